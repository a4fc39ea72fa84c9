/* lethe/filters.hpp - the filters from C++17: Bloom, Quotient and Gaussian. lethe/lethe.hpp
 * includes it, and says what is common to all types. */
#ifndef LETHE_FILTERS_HPP
#define LETHE_FILTERS_HPP

#include "lethe/base.hpp"
#include "lethe/lethe.h"

namespace lethe {

/* An approximate set that only grows: lethe/bloom.h. */
class Bloom : public detail::Owner<lethe_bloom, lethe_bloom_free> {
  public:
    explicit Bloom(const lethe_bloom_options &options = sized<lethe_bloom_options>())
        : Owner(made(lethe_bloom_new, options)) {}
    /* Takes an object of the C interface over. */
    explicit Bloom(lethe_bloom *filter) noexcept : Owner(filter) {}
    Bloom copy() const {
        return Bloom(copied(lethe_bloom_copy, get()));
    }

    /* save and load are of memory, save_file and load_file of files. The bytes are the same. */
    std::string save() const {
        return saved(lethe_bloom_save);
    }
    static Bloom load(Bytes bytes) {
        return Bloom(loaded(lethe_bloom_load, bytes));
    }
    void save_file(const std::string &path) const {
        save_to(lethe_bloom_save_file, path);
    }
    static Bloom load_file(const std::string &path) {
        return Bloom(load_from(lethe_bloom_load_file, path));
    }

    std::uint64_t seed() const noexcept {
        return lethe_bloom_seed(get());
    }
    lethe_hash hash(Bytes key) const noexcept {
        return detail::hash(seed(), key);
    }
    template <class Keys> std::vector<lethe_hash> hashes(const Keys &keys) const {
        return detail::hashes(seed(), keys);
    }

    void add(Bytes key) noexcept {
        lethe_bloom_add(get(), key.data(), key.size());
    }
    bool test(Bytes key) const noexcept {
        return lethe_bloom_test(get(), key.data(), key.size());
    }
    /* Whether the key seemed to be there before. */
    bool add_and_test(Bytes key) noexcept {
        return lethe_bloom_add_and_test(get(), key.data(), key.size());
    }

    void add(View<const lethe_hash> hashes) {
        check(lethe_bloom_add_batch(get(), hashes.data(), hashes.size()));
    }
    Answers test(View<const lethe_hash> hashes) const {
        Answers present(hashes.size());
        check(lethe_bloom_test_batch(get(), hashes.data(), hashes.size(), present.data()));
        return present;
    }
    Answers add_and_test(View<const lethe_hash> hashes) {
        Answers present(hashes.size());
        check(lethe_bloom_add_and_test_batch(get(), hashes.data(), hashes.size(), present.data()));
        return present;
    }

    void clear() noexcept {
        lethe_bloom_clear(get());
    }
    void merge(const Bloom &other) {
        check(lethe_bloom_merge(get(), other.get()));
    }
    lethe_bloom_shape shape() const {
        auto out = sized<lethe_bloom_shape>();
        check(lethe_bloom_get_shape(get(), &out));
        return out;
    }
    lethe_bloom_stats info() const {
        auto out = sized<lethe_bloom_stats>();
        check(lethe_bloom_info(get(), &out));
        return out;
    }
};

/* An approximate multiset that counts, removes, merges and grows: lethe/quotient.h. */
class Quotient : public detail::Owner<lethe_quotient, lethe_quotient_free> {
  public:
    explicit Quotient(const lethe_quotient_options &options = sized<lethe_quotient_options>())
        : Owner(made(lethe_quotient_new, options)) {}
    explicit Quotient(lethe_quotient *filter) noexcept : Owner(filter) {}
    Quotient copy() const {
        return Quotient(copied(lethe_quotient_copy, get()));
    }

    std::string save() const {
        return saved(lethe_quotient_save);
    }
    static Quotient load(Bytes bytes) {
        return Quotient(loaded(lethe_quotient_load, bytes));
    }
    void save_file(const std::string &path) const {
        save_to(lethe_quotient_save_file, path);
    }
    static Quotient load_file(const std::string &path) {
        return Quotient(load_from(lethe_quotient_load_file, path));
    }
    /* Reads the file where it lies, without a copy; what would change it throws. */
    static Quotient map_file(const std::string &path) {
        return Quotient(load_from(lethe_quotient_map_file, path));
    }

    std::uint64_t seed() const noexcept {
        return lethe_quotient_seed(get());
    }
    lethe_hash hash(Bytes key) const noexcept {
        return detail::hash(seed(), key);
    }
    template <class Keys> std::vector<lethe_hash> hashes(const Keys &keys) const {
        return detail::hashes(seed(), keys);
    }

    void add(Bytes key, std::uint64_t count = 1) {
        check(lethe_quotient_add(get(), key.data(), key.size(), count));
    }
    bool test(Bytes key) const noexcept {
        return lethe_quotient_test(get(), key.data(), key.size());
    }
    std::uint64_t count(Bytes key) const noexcept {
        return lethe_quotient_count(get(), key.data(), key.size());
    }
    void remove(Bytes key, std::uint64_t count = 1) {
        check(lethe_quotient_remove(get(), key.data(), key.size(), count));
    }

    void add(View<const lethe_hash> hashes) {
        check(lethe_quotient_add_batch(get(), hashes.data(), hashes.size(), nullptr));
    }
    Answers test(View<const lethe_hash> hashes) const {
        Answers present(hashes.size());
        check(lethe_quotient_test_batch(get(), hashes.data(), hashes.size(), present.data()));
        return present;
    }
    std::vector<std::uint64_t> count(View<const lethe_hash> hashes) const {
        std::vector<std::uint64_t> counts(hashes.size());
        check(lethe_quotient_count_batch(get(), hashes.data(), hashes.size(), counts.data()));
        return counts;
    }
    /* Whether each was there; what was not makes no exception. */
    Answers remove(View<const lethe_hash> hashes) {
        Answers removed(hashes.size());
        const lethe_status status =
            lethe_quotient_remove_batch(get(), hashes.data(), hashes.size(), removed.data());
        if (status != LETHE_ENOTFOUND) check(status);
        return removed;
    }

    void clear() {
        check(lethe_quotient_clear(get()));
    }
    void merge(const Quotient &other) {
        check(lethe_quotient_merge(get(), other.get()));
    }
    lethe_quotient_shape shape() const {
        auto out = sized<lethe_quotient_shape>();
        check(lethe_quotient_get_shape(get(), &out));
        return out;
    }
    lethe_quotient_stats info() const {
        auto out = sized<lethe_quotient_stats>();
        check(lethe_quotient_info(get(), &out));
        return out;
    }
    /* Calls visit(fingerprint, count) in ascending order, until it returns false. A visit that
     * returns nothing sees them all. It must not change the filter. */
    template <class F> void each(F &&visit) const {
        detail::Visit<F> call{visit, nullptr};
        lethe_quotient_cursor cursor = lethe_quotient_seek(get(), 0);
        std::vector<lethe_quotient_entry> entries(1024);
        for (bool more = true; more;) {
            const std::size_t count = lethe_quotient_next(&cursor, entries.data(), entries.size());
            more = count == entries.size();
            for (std::size_t i = 0; i < count; i++) {
                if (call(entries[i].fingerprint, entries[i].count)) continue;
                more = false;
                break;
            }
        }
        call.check_after(LETHE_OK);
    }
};

/* A Bloom filter with fewer false positives while it is under-filled: lethe/gaussian.h. */
class Gaussian : public detail::Owner<lethe_gaussian, lethe_gaussian_free> {
  public:
    explicit Gaussian(const lethe_gaussian_options &options = sized<lethe_gaussian_options>())
        : Owner(made(lethe_gaussian_new, options)) {}
    explicit Gaussian(lethe_gaussian *filter) noexcept : Owner(filter) {}
    /* From a classical Bloom filter. */
    explicit Gaussian(const Bloom &bloom,
                      const lethe_gaussian_options &options = sized<lethe_gaussian_options>())
        : Owner(promoted(bloom, options)) {}
    Gaussian copy() const {
        return Gaussian(copied(lethe_gaussian_copy, get()));
    }

    std::string save() const {
        return saved(lethe_gaussian_save);
    }
    static Gaussian load(Bytes bytes) {
        return Gaussian(loaded(lethe_gaussian_load, bytes));
    }
    void save_file(const std::string &path) const {
        save_to(lethe_gaussian_save_file, path);
    }
    static Gaussian load_file(const std::string &path) {
        return Gaussian(load_from(lethe_gaussian_load_file, path));
    }

    std::uint64_t seed() const noexcept {
        return lethe_gaussian_seed(get());
    }
    lethe_hash hash(Bytes key) const noexcept {
        return detail::hash(seed(), key);
    }
    template <class Keys> std::vector<lethe_hash> hashes(const Keys &keys) const {
        return detail::hashes(seed(), keys);
    }

    void add(Bytes key) noexcept {
        lethe_gaussian_add(get(), key.data(), key.size());
    }
    bool test(Bytes key) const noexcept {
        return lethe_gaussian_test(get(), key.data(), key.size());
    }
    bool add_and_test(Bytes key) noexcept {
        return lethe_gaussian_add_and_test(get(), key.data(), key.size());
    }

    void add(View<const lethe_hash> hashes) {
        check(lethe_gaussian_add_batch(get(), hashes.data(), hashes.size()));
    }
    Answers test(View<const lethe_hash> hashes) const {
        Answers present(hashes.size());
        check(lethe_gaussian_test_batch(get(), hashes.data(), hashes.size(), present.data()));
        return present;
    }
    Answers add_and_test(View<const lethe_hash> hashes) {
        Answers present(hashes.size());
        check(
            lethe_gaussian_add_and_test_batch(get(), hashes.data(), hashes.size(), present.data()));
        return present;
    }

    void clear() noexcept {
        lethe_gaussian_clear(get());
    }
    void merge(const Gaussian &other) {
        check(lethe_gaussian_merge(get(), other.get()));
    }
    /* The Bloom filter that it contains. */
    Bloom extract() const {
        lethe_bloom *bloom = nullptr;
        check(lethe_gaussian_extract(get(), &bloom));
        return Bloom(bloom);
    }
    lethe_gaussian_shape shape() const {
        auto out = sized<lethe_gaussian_shape>();
        check(lethe_gaussian_get_shape(get(), &out));
        return out;
    }
    lethe_gaussian_stats info() const {
        auto out = sized<lethe_gaussian_stats>();
        check(lethe_gaussian_info(get(), &out));
        return out;
    }

  private:
    static lethe_gaussian *promoted(const Bloom &bloom, const lethe_gaussian_options &options) {
        lethe_gaussian *filter = nullptr;
        check(lethe_gaussian_promote(bloom.get(), &options, &filter));
        return filter;
    }
};

} // namespace lethe

#endif
