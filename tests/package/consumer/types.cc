/* Goes through every type of lethe/lethe.hpp in a folder, and ends at the first surprise. */
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include <lethe/lethe.hpp>

#define EXPECT(what)                                               \
    do {                                                           \
        if (!(what)) {                                             \
            std::printf("line %d: not so: %s\n", __LINE__, #what); \
            std::exit(1);                                          \
        }                                                          \
    } while (0)

/* Whether a call throws that error. */
template <class E, class F> static bool throws(F call) {
    try {
        call();
    } catch (const E &error) {
        return error.what()[0] != '\0';
    } catch (...) {
    }
    return false;
}

static const std::vector<std::string> words = {"red", "blue", "red"};

static void bytes() {
    const std::string text = "styx";
    const std::vector<std::uint8_t> octets = {'s', 't', 'y', 'x'};
    const std::array<std::byte, 2> pair = {std::byte{'s'}, std::byte{'t'}};
    EXPECT(lethe::Bytes(text).view() == "styx");
    EXPECT(lethe::Bytes("styx").size() == 4);
    EXPECT(lethe::Bytes(octets).view() == "styx");
    EXPECT(lethe::Bytes(pair).view() == "st");
    EXPECT(lethe::Bytes(std::string_view("a\0b", 3)).size() == 3);
    EXPECT(lethe::Bytes().size() == 0);
    lethe::Bloom filter;
    filter.add(text);
    EXPECT(filter.test("styx") && filter.test(octets) && filter.test(std::string_view(text)));
    EXPECT(filter.hash("styx").low == lethe_hash_bytes(filter.seed(), "styx", 4).low);
}

static void errors() {
    const std::pair<lethe_status, bool (*)()> all[] = {
        {LETHE_EINVAL,
         [] { return throws<lethe::InvalidArgument>([] { lethe::raise(LETHE_EINVAL); }); }},
        {LETHE_ENOMEM,
         [] { return throws<lethe::OutOfMemory>([] { lethe::raise(LETHE_ENOMEM); }); }},
        {LETHE_EMISMATCH,
         [] { return throws<lethe::Mismatch>([] { lethe::raise(LETHE_EMISMATCH); }); }},
        {LETHE_EFULL, [] { return throws<lethe::Full>([] { lethe::raise(LETHE_EFULL); }); }},
        {LETHE_ETYPE, [] { return throws<lethe::WrongType>([] { lethe::raise(LETHE_ETYPE); }); }},
        {LETHE_EVERSION,
         [] { return throws<lethe::NewerVersion>([] { lethe::raise(LETHE_EVERSION); }); }},
        {LETHE_ECORRUPT,
         [] { return throws<lethe::Corrupt>([] { lethe::raise(LETHE_ECORRUPT); }); }},
        {LETHE_EIO, [] { return throws<lethe::InputOutput>([] { lethe::raise(LETHE_EIO); }); }},
        {LETHE_ENOSPACE,
         [] { return throws<lethe::NoSpace>([] { lethe::raise(LETHE_ENOSPACE); }); }},
        {LETHE_ENOTFOUND,
         [] { return throws<lethe::NotFound>([] { lethe::raise(LETHE_ENOTFOUND); }); }},
        {LETHE_EBUSY, [] { return throws<lethe::Busy>([] { lethe::raise(LETHE_EBUSY); }); }},
        {LETHE_EDEVICE,
         [] { return throws<lethe::DeviceLost>([] { lethe::raise(LETHE_EDEVICE); }); }},
    };
    for (const auto &[status, test] : all) {
        EXPECT(test());
        try {
            lethe::raise(status);
        } catch (const lethe::Error &error) {
            EXPECT(error.status() == status && error.what() == std::string(lethe_strerror(status)));
        }
    }
    EXPECT(throws<lethe::Error>([] { lethe::raise(static_cast<lethe_status>(99)); }));
    auto options = lethe::sized<lethe_bloom_options>();
    options.error = 0.7;
    EXPECT(throws<lethe::InvalidArgument>([&] { lethe::Bloom filter(options); }));
    EXPECT(
        throws<lethe::Corrupt>([] { lethe::Bloom::load("these are not the bytes of a filter"); }));
    EXPECT(throws<lethe::WrongType>([] { lethe::Quotient::load(lethe::Bloom().save()); }));
}

static void blooms(const std::string &folder) {
    lethe::Bloom filter;
    filter.add(filter.hashes(words));
    EXPECT((filter.test(filter.hashes(words)) == lethe::Answers{1, 1, 1}));
    EXPECT(!filter.add_and_test("green") && filter.add_and_test("green"));
    EXPECT((filter.add_and_test(filter.hashes(std::vector<int>{1, 1})) == lethe::Answers{0, 1}));
    lethe::Bloom moved = std::move(filter);
    filter = moved.copy();
    moved.clear();
    EXPECT(filter.test("red") && !moved.test("red"));
    moved.merge(filter);
    EXPECT(moved.test("red") && moved.shape().capacity == 65536 && moved.info().bits_set > 0);
    moved.save_file(folder + "/bloom");
    EXPECT(lethe::Bloom::load_file(folder + "/bloom").save() == moved.save());
    EXPECT(throws<lethe::NotFound>([&] { lethe::Bloom::load_file(folder + "/none"); }));
    auto other = lethe::sized<lethe_bloom_options>();
    other.capacity = 10;
    EXPECT(throws<lethe::Mismatch>([&] { moved.merge(lethe::Bloom(other)); }));
    lethe_bloom *mine = moved.release();
    EXPECT(mine != nullptr && moved.get() == nullptr);
    lethe_bloom_free(mine);

    lethe::Gaussian bell;
    bell.add(bell.hashes(words));
    EXPECT(bell.test("red") && !bell.add_and_test("green") && bell.extract().test("blue"));
    EXPECT(lethe::Gaussian::load(bell.save()).test("red") && bell.copy().info().additions == 4);
    bell.save_file(folder + "/gaussian");
    EXPECT(lethe::Gaussian::load_file(folder + "/gaussian").test("red"));
    lethe::Gaussian from(filter);
    EXPECT(from.test("red") && from.shape().slots == filter.shape().bits);
    EXPECT((bell.add_and_test(bell.hashes(words)) == lethe::Answers{1, 1, 1}));
    bell.clear();
    EXPECT((bell.test(bell.hashes(words)) == lethe::Answers{0, 0, 0}));
}

static void quotients(const std::string &folder) {
    lethe::Quotient filter;
    filter.add(filter.hashes(words));
    filter.add("green", 5);
    EXPECT(filter.count("red") == 2 && filter.count("green") == 5 && filter.test("blue"));
    EXPECT((filter.count(filter.hashes(words)) == std::vector<std::uint64_t>{2, 1, 2}));
    filter.remove("red");
    EXPECT((filter.remove(filter.hashes(words)) == lethe::Answers{1, 1, 0}));
    EXPECT(throws<lethe::NotFound>([&] { filter.remove("red"); }));
    std::uint64_t sum = 0;
    filter.each([&](std::uint64_t, std::uint64_t count) { sum += count; });
    EXPECT(sum == 5 && filter.info().total == 5);
    for (std::uint64_t key = 0; key < 3000; key++)
        filter.add(lethe::Bytes(&key, sizeof key));
    int seen = 0;
    filter.each([&](std::uint64_t, std::uint64_t) { return ++seen < 2000; });
    EXPECT(seen == 2000);
    EXPECT(throws<lethe::Full>(
        [&] { filter.each([](std::uint64_t, std::uint64_t) { lethe::raise(LETHE_EFULL); }); }));
    filter.save_file(folder + "/quotient");
    lethe::Quotient mapped = lethe::Quotient::map_file(folder + "/quotient");
    EXPECT(mapped.count("green") == 5);
    EXPECT(throws<lethe::InvalidArgument>([&] { mapped.add("x"); }));
    lethe::Quotient sum_of = mapped.copy();
    sum_of.merge(filter);
    EXPECT(sum_of.count("green") == 10 && lethe::Quotient::load(filter.save()).count("green") == 5);
    filter.clear();
    EXPECT(!filter.test("green"));
}

static void windows(const std::string &folder) {
    auto options = lethe::sized<lethe_window_options>();
    options.window_ms = 60000;
    lethe::Window window(options);
    const lethe_hash id = window.hash("click");
    EXPECT(window.add_and_test(id, 0) == LETHE_ANSWER_FRESH);
    EXPECT(window.add_and_test(id, 60000) == LETHE_ANSWER_DUPLICATE);
    EXPECT(window.test(id, 600000) == LETHE_ANSWER_FRESH);
    const lethe::Answers answers = window.add_and_test(window.hashes(words), 60000);
    EXPECT((answers ==
            lethe::Answers{LETHE_ANSWER_FRESH, LETHE_ANSWER_FRESH, LETHE_ANSWER_DUPLICATE}));
    window.remove(window.hash("red"), 60000);
    EXPECT(throws<lethe::NotFound>([&] { window.remove(window.hash("red"), 60000); }));
    window.save_file(folder + "/window");
    EXPECT(lethe::Window::load_file(folder + "/window").info(60000).ids == window.info(60000).ids);
    lethe::Window other(options);
    other.add(other.hash("green"), 60000);
    window.merge(other);
    EXPECT(window.test(window.hash("green"), 60000) == LETHE_ANSWER_DUPLICATE);
    window.work(10000000, 100);
    EXPECT((window.test(window.hashes(words), 10000000) == lethe::Answers{0, 0, 0}));

    options.max_memory_bytes = 2 << 20;
    options.error = 1e-9;
    lethe::Window small(options);
    std::vector<int> many(400000);
    for (std::size_t i = 0; i < many.size(); i++)
        many[i] = static_cast<int>(i);
    const lethe::Answers full = small.add_and_test(small.hashes(many), 1);
    EXPECT(std::count(full.begin(), full.end(), LETHE_ANSWER_REFUSED) > 0);
    EXPECT(throws<lethe::Full>([&] {
        for (int i = 0; i < 100000; i++)
            small.add(lethe_hash_u64(small.seed(), 1000000u + i), 1);
    }));

    auto paper = lethe::sized<lethe_forgetful_options>();
    paper.window_ms = 60000;
    lethe::Forgetful filter(paper);
    EXPECT(filter.add_and_test(filter.hash("click"), 0) == LETHE_ANSWER_FRESH);
    EXPECT(filter.copy().test(filter.hash("click"), 60000));
    EXPECT(lethe::Forgetful::load(filter.save()).info(0).ids_held == 1);
    EXPECT((filter.add_and_test(filter.hashes(words), 1) == lethe::Answers{0, 0, 1}));
    filter.clear();
    EXPECT((filter.test(filter.hashes(words), 1) == lethe::Answers{0, 0, 0}));
}

static void sketches(const std::string &folder) {
    auto options = lethe::sized<lethe_sketch_options>();
    options.top = 2;
    lethe::Sketch sketch(options);
    for (const auto &word : words)
        sketch.add(word);
    sketch.add("green", 10);
    const auto top = sketch.top(5);
    EXPECT(top.size() == 2 && top[0].key == "green" && top[0].count == 10 && top[1].key == "red");
    EXPECT((sketch.count(sketch.hashes(words)) == std::vector<std::uint64_t>{2, 1, 2}));
    EXPECT(sketch.total() == 13 && lethe::Sketch::load(sketch.save()).count("green") == 10);
    sketch.save_file(folder + "/sketch");
    EXPECT(lethe::Sketch::load_file(folder + "/sketch").top(1)[0].key == "green");
    const lethe::Sketch exported = lethe::Sketch::load_export(sketch.save_export());
    EXPECT(exported.count("green") == 10);
    EXPECT(throws<lethe::InvalidArgument>([&] { exported.copy().add("x"); }));
    lethe::Sketch sum = sketch.copy();
    sum.merge(sketch);
    EXPECT(sum.count("green") == 20);
    const std::vector<lethe_bytes> keys = {lethe::Bytes("a"), lethe::Bytes("a")};
    sum.add(keys);
    EXPECT(sum.count("a") == 2);
    lethe::Sketch plain;
    plain.add(plain.hashes(words));
    EXPECT(plain.count("red") == 2 && plain.info().total == 3 && plain.shape().top == 0);
}

static void cascades(const std::string &folder) {
    lethe::Cascade set(folder + "/cascade");
    EXPECT((set.add_and_test(set.hashes(words)) == lethe::Answers{0, 0, 1}));
    set.add(set.hashes(words));
    EXPECT((set.count(set.hashes(words)) == std::vector<std::uint64_t>{3, 2, 3}));
    set.remove(set.hashes(std::vector<std::string>{"blue"}));
    EXPECT((set.test(set.hashes(words)) == lethe::Answers{1, 1, 1}));
    while (set.work()) {
    }
    set.sync();
    set.checkpoint(7, "note");
    EXPECT(set.info().sequence == 7);
    EXPECT(throws<lethe::Busy>([&] { lethe::Cascade again(folder + "/cascade"); }));
    lethe::Cascade moved = std::move(set);
    moved.close();
    lethe::Cascade again(folder + "/cascade");
    EXPECT((again.test(again.hashes(words)) == lethe::Answers{1, 1, 1}));
}

static void stores(const std::string &folder) {
    auto options = lethe::sized<lethe_store_options>();
    EXPECT(throws<lethe::NotFound>([&] { lethe::Store none(folder + "/store"); }));
    options.create = true;
    options.per = "1h";
    lethe::Store store(folder + "/store", options);
    EXPECT(store.opening().empty() && store.scale() == 0);
    EXPECT(store.apply("a", "likes", 3) == LETHE_OUTCOME_APPLIED);
    EXPECT(store.apply("a", "likes", 3) == LETHE_OUTCOME_DUPLICATE);
    EXPECT(store.apply("b", {{"likes", 1}, {"shares", 2}}) == LETHE_OUTCOME_APPLIED);
    EXPECT(store.apply("c", {{"likes", 7, 10}}) == LETHE_OUTCOME_LIMITED);
    EXPECT(store.apply("d", {{"shares", -5, {}, -10}}) == LETHE_OUTCOME_APPLIED);
    EXPECT(store.get("likes") == 4 && store.get("shares") == -3 && !store.get("none"));

    lethe::Batch batch;
    for (int i = 0; i < 1000; i++) {
        batch.add("batch-" + std::to_string(i % 500), "batched", 2);
    }
    batch.add("two", {{"batched"}, {"likes"}});
    const auto outcomes = store.apply(batch);
    EXPECT(std::count(outcomes.begin(), outcomes.end(), LETHE_OUTCOME_APPLIED) == 501);
    EXPECT(store.get("batched") == 1001 && batch.size() == 1001);
    batch.clear();
    batch.add("three", "batched");
    const auto submitted = store.submit(batch);
    store.wait(submitted.ticket);
    EXPECT(store.is_done(submitted.ticket) && submitted.outcomes[0] == LETHE_OUTCOME_APPLIED);

    store.set("likes", 100);
    EXPECT(store.remove("shares") && !store.remove("shares"));
    std::string list;
    store.each([&](std::string_view key, std::int64_t value) {
        list += std::string(key) + "=" + std::to_string(value) + " ";
    });
    EXPECT(list == "batched=1002 likes=100 ");
    list.clear();
    store.top(1, [&](std::string_view key, std::int64_t) { list += key; });
    store.each([&](std::string_view key, std::int64_t) { return (list += key, false); }, "l");
    EXPECT(list == "batchedlikes");
    EXPECT(throws<lethe::Mismatch>([&] {
        store.each([](std::string_view, std::int64_t) { lethe::raise(LETHE_EMISMATCH); });
    }));
    std::int64_t used = 0;
    store.usage(lethe::sized<lethe_usage_query>(), [&](const lethe_usage_row &row) {
        if (!row.is_rest) used += static_cast<std::int64_t>(row.value);
    });
    EXPECT(used == 1002 + 5); /* set and remove leave no bucket behind of their own */
    EXPECT(throws<lethe::InvalidArgument>([&] { store.set("", 1); }));
    store.marks([](std::string_view, std::string_view) { EXPECT(false); });

    EXPECT(store.begin("work", "me", 60000).answer == LETHE_CLAIM_NEW);
    EXPECT(store.begin("work", "you", 60000).answer == LETHE_CLAIM_RUNNING);
    EXPECT(store.renew("work", "me", 60000) == LETHE_CLAIM_RENEWED);
    EXPECT(store.done("work", "me", "reply") == LETHE_CLAIM_RECORDED);
    const lethe::Claim claim = store.begin("work", "you", 60000);
    EXPECT(claim.answer == LETHE_CLAIM_DONE && claim.reply == "reply" && !claim.reply_gone);
    EXPECT(store.abort("none", "me") == LETHE_CLAIM_UNKNOWN);

    EXPECT(store.place("h", "quota", 30, 100, 60000).limit.left == 70);
    EXPECT(store.place("i", "quota", 80, 100, 60000).answer == LETHE_HOLD_LIMITED);
    EXPECT(store.settle("h", 12).answer == LETHE_HOLD_SETTLED && store.get("quota") == 12);
    EXPECT(store.release("none") == LETHE_HOLD_UNKNOWN);

    EXPECT(throws<lethe::Busy>([&] { lethe::Store again(folder + "/store"); }));
    auto reading = lethe::sized<lethe_store_options>();
    reading.read_only = true;
    lethe::Store reader(folder + "/store", reading);
    EXPECT(store.apply("later", "likes") == LETHE_OUTCOME_APPLIED);
    reader.refresh();
    EXPECT(reader.get("likes") == 101);
    EXPECT(throws<lethe::InvalidArgument>([&] { reader.set("likes", 1); }));
    EXPECT(lethe::Store::backup(folder + "/store", folder + "/backups").number == 1);
    lethe::Store moved = std::move(store);
    EXPECT(moved.info().applied > 500);
    moved.close();
    lethe::Store::restore(folder + "/backups", folder + "/restored");
    lethe::Store restored(folder + "/restored");
    EXPECT(restored.get("likes") == 101);
    store = std::move(restored);
    EXPECT(store.get("quota") == 12);
}

int main(int count, char **arguments) {
    if (count != 2) return 2;
    const std::string folder = arguments[1];
    try {
        bytes();
        errors();
        blooms(folder);
        quotients(folder);
        windows(folder);
        sketches(folder);
        cascades(folder);
        stores(folder);
    } catch (const lethe::Error &error) {
        std::printf("thrown: %s\n", error.what());
        return 1;
    }
    std::printf("all is well\n");
}
