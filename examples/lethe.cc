/* Lethe from C++: a window, a set, a sketch and a store, with exceptions.
 * c++ -std=c++17 lethe.cc $(pkg-config --cflags --libs lethe_store) && ./a.out FOLDER
 *
 *     click-1: fresh
 *     click-1: duplicate
 *     red 1, green 0
 *     the most frequent: red, 2
 *     payment-1: applied
 *     payment-1: duplicate
 *     likes 3
 *     a store that is not there: not found
 */
#include <iostream>
#include <lethe/lethe.hpp>
#include <string>
#include <vector>

static void filters() {
    auto options = lethe::sized<lethe_window_options>();
    options.window_ms = 60000;
    lethe::Window window(options);
    for (std::uint64_t now_ms : {0, 1000}) {
        bool fresh = window.add_and_test(window.hash("click-1"), now_ms) == LETHE_ANSWER_FRESH;
        std::cout << "click-1: " << (fresh ? "fresh" : "duplicate") << "\n";
    }

    const std::vector<std::string> words = {"red", "blue", "red"};
    lethe::Bloom seen;
    seen.add(seen.hashes(words)); /* a batch */
    std::cout << "red " << seen.test("red") << ", green " << seen.test("green") << "\n";

    auto shape = lethe::sized<lethe_sketch_options>();
    shape.top = 10;
    lethe::Sketch counts(shape);
    for (const std::string &word : words)
        counts.add(word);
    const auto top = counts.top(1);
    std::cout << "the most frequent: " << top[0].key << ", " << top[0].count << "\n";
}

static void store(const std::string &folder) {
    auto options = lethe::sized<lethe_store_options>();
    options.create = true;
    lethe::Store store(folder, options);
    for (int i = 0; i < 2; i++) {
        bool applied = store.apply("payment-1", "likes", 3) == LETHE_OUTCOME_APPLIED;
        std::cout << "payment-1: " << (applied ? "applied" : "duplicate") << "\n";
    }
    std::cout << "likes " << store.get("likes").value_or(0) << "\n";
    store.close(); /* reports errors, which the destructor cannot */
}

int main(int count, char **words) {
    if (count != 2) return 2;
    try {
        filters();
        store(words[1]);
        lethe::Store none(std::string(words[1]) + "/none");
    } catch (const lethe::NotFound &error) {
        std::cout << "a store that is not there: " << lethe_strerror(error.status()) << "\n";
    } catch (const lethe::Error &error) {
        std::cerr << error.what() << "\n";
        return 1;
    }
}
