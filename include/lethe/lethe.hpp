/* lethe/lethe.hpp - Lethe from C++17: types that own their objects, and exceptions.
 *
 *     lethe::Window window;                        // ten minutes, an error of 1e-6
 *     if (window.add_and_test(window.hash("click-1"), now_ms) == LETHE_ANSWER_FRESH) count++;
 *
 * Guarantee  Each type owns one object of the C interface and frees it. What a function does, what
 *            it costs and which errors it has is said in the C header of its type: Bloom is
 *            lethe/bloom.h, Store is lethe/store.h, and so on. A status other than LETHE_OK becomes
 *            an exception: lethe::Full for LETHE_EFULL, lethe::Corrupt for LETHE_ECORRUPT; all are
 *            lethe::Error (lethe/base.hpp). An operation that failed changed nothing, where the C
 *            header does not say otherwise.
 * Arguments  Keys and ids are Bytes: texts, string_views, and whatever is contiguous and of bytes.
 *            Batches take Views, which are made from vectors, arrays and spans. Options are the
 *            structs of the C interface, from lethe::sized<lethe_bloom_options>().
 * Batches    hashes(keys) hashes a container of keys with the object's seed; the functions that
 *            take a View of hashes do the same as single calls in order, several times as fast.
 * Threads    As in C.
 * Library    Everything is inline: a program links what the C functions need, which is lethe, and
 *            lethe_store if it uses Store.
 * Caveats    get() gives the object to functions that have no counterpart here. */
#ifndef LETHE_LETHE_HPP
#define LETHE_LETHE_HPP

#include "lethe/base.hpp"
#include "lethe/filters.hpp"
#include "lethe/lethe.h"

namespace lethe {

/* Was this id added within the last W? lethe/window.h. Time is an argument. */
class Window : public detail::Owner<lethe_window, lethe_window_free> {
  public:
    explicit Window(const lethe_window_options &options = sized<lethe_window_options>())
        : Owner(made(lethe_window_new, options)) {}
    explicit Window(lethe_window *window) noexcept : Owner(window) {}

    std::string save() const {
        return saved(lethe_window_save);
    }
    static Window load(Bytes bytes) {
        return Window(loaded(lethe_window_load, bytes));
    }
    void save_file(const std::string &path) const {
        save_to(lethe_window_save_file, path);
    }
    static Window load_file(const std::string &path) {
        return Window(load_from(lethe_window_load_file, path));
    }

    std::uint64_t seed() const noexcept {
        return lethe_window_seed(get());
    }
    lethe_hash hash(Bytes id) const noexcept {
        return detail::hash(seed(), id);
    }
    template <class Ids> std::vector<lethe_hash> hashes(const Ids &ids) const {
        return detail::hashes(seed(), ids);
    }

    lethe_answer test(lethe_hash id, std::uint64_t now_ms) const noexcept {
        return lethe_window_test(get(), id, now_ms);
    }
    void add(lethe_hash id, std::uint64_t now_ms) {
        check(lethe_window_add(get(), id, now_ms));
    }
    /* Answers, and remembers the id if it is fresh. Full: it is not a duplicate, and there is no
     * room to remember it. */
    lethe_answer add_and_test(lethe_hash id, std::uint64_t now_ms) {
        lethe_answer answer = LETHE_ANSWER_REFUSED;
        check(lethe_window_add_and_test(get(), id, now_ms, &answer));
        return answer;
    }
    void remove(lethe_hash id, std::uint64_t now_ms) {
        check(lethe_window_remove(get(), id, now_ms));
    }

    /* Each becomes a lethe_answer. Where there is no room for all, those that met that are
     * LETHE_ANSWER_REFUSED, and nothing is thrown. */
    Answers test(View<const lethe_hash> ids, std::uint64_t now_ms) const {
        Answers answers(ids.size());
        check(lethe_window_test_batch(get(), ids.data(), ids.size(), now_ms, answers.data()));
        return answers;
    }
    Answers add_and_test(View<const lethe_hash> ids, std::uint64_t now_ms) {
        Answers answers(ids.size());
        const lethe_status status =
            lethe_window_add_and_test_batch(get(), ids.data(), ids.size(), now_ms, answers.data());
        if (status != LETHE_EFULL && status != LETHE_ENOMEM) check(status);
        return answers;
    }

    /* Frees memory of what has expired; whether there is more to free. */
    bool work(std::uint64_t now_ms, unsigned budget) {
        bool more = false;
        check(lethe_window_work(get(), now_ms, budget, &more));
        return more;
    }
    /* Empties other. */
    void merge(Window &other) {
        check(lethe_window_merge(get(), other.get()));
    }
    lethe_window_stats info(std::uint64_t now_ms) const {
        auto out = sized<lethe_window_stats>();
        check(lethe_window_info(get(), now_ms, &out));
        return out;
    }
};

/* The paper's forgetful Bloom filter: lethe/forgetful.h. Time is an argument. */
class Forgetful : public detail::Owner<lethe_forgetful, lethe_forgetful_free> {
  public:
    explicit Forgetful(const lethe_forgetful_options &options = sized<lethe_forgetful_options>())
        : Owner(made(lethe_forgetful_new, options)) {}
    explicit Forgetful(lethe_forgetful *filter) noexcept : Owner(filter) {}
    Forgetful copy() const {
        return Forgetful(copied(lethe_forgetful_copy, get()));
    }

    std::string save() const {
        return saved(lethe_forgetful_save);
    }
    static Forgetful load(Bytes bytes) {
        return Forgetful(loaded(lethe_forgetful_load, bytes));
    }

    std::uint64_t seed() const noexcept {
        return lethe_forgetful_seed(get());
    }
    lethe_hash hash(Bytes id) const noexcept {
        return detail::hash(seed(), id);
    }
    template <class Ids> std::vector<lethe_hash> hashes(const Ids &ids) const {
        return detail::hashes(seed(), ids);
    }

    bool test(lethe_hash id, std::uint64_t now_ms) const noexcept {
        return lethe_forgetful_test(get(), id, now_ms);
    }
    void add(lethe_hash id, std::uint64_t now_ms) {
        check(lethe_forgetful_add(get(), id, now_ms));
    }
    lethe_answer add_and_test(lethe_hash id, std::uint64_t now_ms) {
        lethe_answer answer = LETHE_ANSWER_REFUSED;
        check(lethe_forgetful_add_and_test(get(), id, now_ms, &answer));
        return answer;
    }
    /* As those of Window. */
    Answers test(View<const lethe_hash> ids, std::uint64_t now_ms) const {
        Answers answers(ids.size());
        check(lethe_forgetful_test_batch(get(), ids.data(), ids.size(), now_ms, answers.data()));
        return answers;
    }
    Answers add_and_test(View<const lethe_hash> ids, std::uint64_t now_ms) {
        Answers answers(ids.size());
        const lethe_status status = lethe_forgetful_add_and_test_batch(
            get(), ids.data(), ids.size(), now_ms, answers.data());
        if (status != LETHE_EFULL && status != LETHE_ENOMEM) check(status);
        return answers;
    }

    void clear() noexcept {
        lethe_forgetful_clear(get());
    }
    bool work(std::uint64_t now_ms, unsigned budget) {
        bool more = false;
        check(lethe_forgetful_work(get(), now_ms, budget, &more));
        return more;
    }
    void merge(const Forgetful &other) {
        check(lethe_forgetful_merge(get(), other.get()));
    }
    lethe_forgetful_stats info(std::uint64_t now_ms) const {
        auto out = sized<lethe_forgetful_stats>();
        check(lethe_forgetful_info(get(), now_ms, &out));
        return out;
    }
};

/* How often did each key occur? lethe/sketch.h. */
class Sketch : public detail::Owner<lethe_sketch, lethe_sketch_free> {
  public:
    explicit Sketch(const lethe_sketch_options &options = sized<lethe_sketch_options>())
        : Owner(made(lethe_sketch_new, options)) {}
    explicit Sketch(lethe_sketch *sketch) noexcept : Owner(sketch) {}
    Sketch copy() const {
        return Sketch(copied(lethe_sketch_copy, get()));
    }

    std::string save() const {
        return saved(lethe_sketch_save);
    }
    static Sketch load(Bytes bytes) {
        return Sketch(loaded(lethe_sketch_load, bytes));
    }
    void save_file(const std::string &path) const {
        save_to(lethe_sketch_save_file, path);
    }
    static Sketch load_file(const std::string &path) {
        return Sketch(load_from(lethe_sketch_load_file, path));
    }
    /* The part that answers, without what adding needs. */
    std::string save_export() const {
        return saved(lethe_sketch_export);
    }
    static Sketch load_export(Bytes bytes) {
        return Sketch(loaded(lethe_sketch_import, bytes));
    }

    std::uint64_t seed() const noexcept {
        return lethe_sketch_seed(get());
    }
    lethe_hash hash(Bytes key) const noexcept {
        return detail::hash(seed(), key);
    }
    template <class Keys> std::vector<lethe_hash> hashes(const Keys &keys) const {
        return detail::hashes(seed(), keys);
    }

    void add(Bytes key, std::uint64_t weight = 1) {
        check(lethe_sketch_add(get(), key.data(), key.size(), weight));
    }
    void remove(Bytes key, std::uint64_t weight = 1) {
        check(lethe_sketch_remove(get(), key.data(), key.size(), weight));
    }
    std::uint64_t count(Bytes key) const noexcept {
        return lethe_sketch_count(get(), key.data(), key.size(), nullptr);
    }

    /* Adds 1 for each. A sketch that keeps the most frequent keys needs the keys themselves. */
    void add(View<const lethe_hash> hashes) {
        check(lethe_sketch_add_batch(get(), hashes.data(), hashes.size(), nullptr, nullptr));
    }
    void add(View<const lethe_bytes> keys) {
        check(lethe_sketch_add_key_batch(get(), keys.data(), keys.size(), nullptr, nullptr));
    }
    std::vector<std::uint64_t> count(View<const lethe_hash> hashes) const {
        std::vector<std::uint64_t> counts(hashes.size());
        check(
            lethe_sketch_count_batch(get(), hashes.data(), hashes.size(), counts.data(), nullptr));
        return counts;
    }

    struct Top {
        std::string key;
        std::uint64_t count;
        std::uint64_t at_least;
    };
    /* The most frequent keys, the most frequent first, at most n of them. */
    std::vector<Top> top(std::size_t n) const {
        std::vector<lethe_sketch_top_entry> entries(n);
        std::size_t listed = 0;
        check(lethe_sketch_top(get(), entries.data(), n, &listed));
        std::vector<Top> out;
        for (std::size_t i = 0; i < listed; i++) {
            const lethe_sketch_top_entry &entry = entries[i];
            out.push_back({std::string(Bytes(entry.key).view()), entry.count, entry.at_least});
        }
        return out;
    }

    void clear() noexcept {
        lethe_sketch_clear(get());
    }
    void merge(const Sketch &other) {
        check(lethe_sketch_merge(get(), other.get()));
    }
    std::uint64_t total() const noexcept {
        return lethe_sketch_total(get());
    }
    lethe_sketch_shape shape() const {
        auto out = sized<lethe_sketch_shape>();
        check(lethe_sketch_get_shape(get(), &out));
        return out;
    }
    lethe_sketch_stats info() const {
        auto out = sized<lethe_sketch_stats>();
        check(lethe_sketch_info(get(), &out));
        return out;
    }
};

/* A set in a folder, far larger than memory: lethe/cascade.h. now_ms matters only with a window. */
class Cascade {
  public:
    explicit Cascade(const std::string &folder,
                     const lethe_cascade_options &options = sized<lethe_cascade_options>()) {
        lethe_detail said{};
        check(lethe_cascade_open(folder.c_str(), &options, &cascade_, &said), said);
    }
    Cascade(Cascade &&other) noexcept : cascade_(std::exchange(other.cascade_, nullptr)) {}
    Cascade &operator=(Cascade &&other) noexcept {
        std::swap(cascade_, other.cascade_);
        return *this;
    }
    /* Closes it; only close reports whether that succeeded. */
    ~Cascade() {
        (void)lethe_cascade_close(cascade_, nullptr);
    }
    void close() {
        lethe_detail said{};
        check(lethe_cascade_close(std::exchange(cascade_, nullptr), &said), said);
    }
    lethe_cascade *get() const noexcept {
        return cascade_;
    }

    std::uint64_t seed() const noexcept {
        return lethe_cascade_seed(cascade_);
    }
    template <class Keys> std::vector<lethe_hash> hashes(const Keys &keys) const {
        return detail::hashes(seed(), keys);
    }

    void add(View<const lethe_hash> hashes, std::uint64_t now_ms = 0) {
        check(lethe_cascade_add_batch(cascade_, hashes.data(), hashes.size(), now_ms, nullptr));
    }
    void remove(View<const lethe_hash> hashes, std::uint64_t now_ms = 0) {
        check(lethe_cascade_remove_batch(cascade_, hashes.data(), hashes.size(), now_ms, nullptr));
    }
    Answers test(View<const lethe_hash> hashes, std::uint64_t now_ms = 0) const {
        Answers present(hashes.size());
        check(lethe_cascade_test_batch(cascade_, hashes.data(), hashes.size(), now_ms,
                                       present.data()));
        return present;
    }
    Answers add_and_test(View<const lethe_hash> hashes, std::uint64_t now_ms = 0) {
        Answers present(hashes.size());
        check(lethe_cascade_add_and_test_batch(cascade_, hashes.data(), hashes.size(), now_ms,
                                               present.data(), nullptr));
        return present;
    }
    std::vector<std::uint64_t> count(View<const lethe_hash> hashes,
                                     std::uint64_t now_ms = 0) const {
        std::vector<std::uint64_t> counts(hashes.size());
        check(lethe_cascade_count_batch(cascade_, hashes.data(), hashes.size(), now_ms,
                                        counts.data()));
        return counts;
    }

    /* Does a part of the merging that is due; whether there is more. */
    bool work(std::uint64_t now_ms = 0, std::uint64_t budget = 0) {
        bool more = false;
        check(lethe_cascade_work(cascade_, now_ms, budget, &more));
        return more;
    }
    void sync() {
        check(lethe_cascade_sync(cascade_));
    }
    void checkpoint(std::uint64_t sequence, Bytes note = {}) {
        check(lethe_cascade_checkpoint(cascade_, sequence, note.data(), note.size()));
    }
    lethe_cascade_stats info(std::uint64_t now_ms = 0) const {
        auto out = sized<lethe_cascade_stats>();
        check(lethe_cascade_info(cascade_, now_ms, &out));
        return out;
    }

  private:
    lethe_cascade *cascade_ = nullptr;
};

} // namespace lethe

/* Counters on disk, where that library is installed too. */
#if __has_include("lethe/store.hpp")
#include "lethe/store.hpp"
#endif

#endif
