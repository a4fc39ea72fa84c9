/* LevelDB with one of Lethe's filters, from C++.
 * c++ leveldb.cc $(pkg-config --cflags --libs lethe_leveldb) && ./a.out FOLDER
 *
 *     styx: a river
 *     sty: not there
 */
#include <iostream>
#include <memory>
#include <string>

#include <lethe/leveldb.hpp>
#include <leveldb/db.h>

int main(int count, char **words) {
    if (count != 2) return 2;
    std::unique_ptr<const leveldb::FilterPolicy> policy(lethe::NewFilterPolicy("quotient"));
    leveldb::Options options;
    options.create_if_missing = true;
    options.filter_policy = policy.get();

    leveldb::DB *opened = nullptr;
    leveldb::Status status = leveldb::DB::Open(options, words[1], &opened);
    std::unique_ptr<leveldb::DB> database(opened);
    if (status.ok()) status = database->Put(leveldb::WriteOptions(), "styx", "a river");
    if (!status.ok()) {
        std::cerr << status.ToString() << "\n";
        return 1;
    }
    database->CompactRange(nullptr, nullptr); /* into a table, with its filter */

    std::string value;
    status = database->Get(leveldb::ReadOptions(), "styx", &value);
    std::cout << "styx: " << (status.ok() ? value : status.ToString()) << "\n";
    status = database->Get(leveldb::ReadOptions(), "sty", &value);
    std::cout << "sty: " << (status.ok() ? "there" : "not there") << "\n";
}
