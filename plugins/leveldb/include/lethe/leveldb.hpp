/* lethe/leveldb.hpp - Lethe's filters in LevelDB, from C++: lethe/leveldb.h describes them.
 *
 *   options.filter_policy = lethe::NewFilterPolicy("quotient");
 *
 * The caller deletes the policy after the database is closed, as with
 * leveldb::NewBloomFilterPolicy. Where LevelDB was compiled with -fno-rtti, a program that includes
 * this has to be, too. */
#ifndef LETHE_LEVELDB_HPP
#define LETHE_LEVELDB_HPP

#include <cstdlib>
#include <new>
#include <string>
#include <vector>

#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include "lethe/leveldb.h"

namespace lethe {

class FilterPolicy final : public leveldb::FilterPolicy {
  public:
    /* Takes the policy over. */
    explicit FilterPolicy(lethe_leveldb *policy) : policy_(policy) {}
    ~FilterPolicy() override {
        lethe_leveldb_free(policy_);
    }
    FilterPolicy(const FilterPolicy &) = delete;
    FilterPolicy &operator=(const FilterPolicy &) = delete;

    const char *Name() const override {
        return lethe_leveldb_name(policy_);
    }

    void CreateFilter(const leveldb::Slice *keys, int count, std::string *to) const override {
        std::vector<const char *> data;
        std::vector<size_t> sizes;
        for (int i = 0; i < count; i++) {
            data.push_back(keys[i].data());
            sizes.push_back(keys[i].size());
        }
        size_t size;
        char *filter = lethe_leveldb_create(policy_, data.data(), sizes.data(), data.size(), &size);
        if (filter == nullptr) std::abort(); /* as LevelDB does, without memory for a byte */
        to->append(filter, size);
        std::free(filter);
    }

    bool KeyMayMatch(const leveldb::Slice &key, const leveldb::Slice &filter) const override {
        return lethe_leveldb_match(policy_, key.data(), key.size(), filter.data(), filter.size());
    }

  private:
    lethe_leveldb *policy_;
};

/* nullptr where lethe_leveldb_new fails: no such kind, an option out of its range, no memory. */
inline const leveldb::FilterPolicy *
NewFilterPolicy(const char *kind, const lethe_leveldb_options *options = nullptr) {
    lethe_leveldb *policy;
    if (lethe_leveldb_new(kind, options, &policy) != LETHE_OK) return nullptr;
    leveldb::FilterPolicy *made = new (std::nothrow) FilterPolicy(policy);
    if (made == nullptr) lethe_leveldb_free(policy);
    return made;
}

} // namespace lethe

#endif
