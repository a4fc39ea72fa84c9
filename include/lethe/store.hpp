/* lethe/store.hpp - counters that apply every operation exactly once, from C++17.
 *
 *     auto options = lethe::sized<lethe_store_options>();
 *     options.create = true;
 *     lethe::Store store("counters", options);
 *     store.apply("payment-1", "likes", 3);          // LETHE_OUTCOME_APPLIED, once
 *     std::cout << store.get("likes").value_or(0);
 *
 * lethe/store.h, lethe/claims.h and lethe/holds.h say what each function does, guarantees and
 * costs; lethe/lethe.hpp how errors and arguments are here. A program links lethe_store. */
#ifndef LETHE_STORE_HPP
#define LETHE_STORE_HPP

#include <deque>
#include <optional>

#include "lethe/base.hpp"
#include "lethe/holds.h"
#include "lethe/store.h"

namespace lethe {

/* A change of one counter. Bounds are optional: max and min say how far it may go. */
struct Change {
    Bytes key;
    std::int64_t delta = 1;
    std::optional<std::int64_t> max = {};
    std::optional<std::int64_t> min = {};

    operator lethe_change() const noexcept {
        lethe_change made{};
        made.key = key;
        made.delta = delta;
        made.flags =
            (max ? unsigned{LETHE_CHANGE_MAX} : 0u) | (min ? unsigned{LETHE_CHANGE_MIN} : 0u);
        made.max = max.value_or(0);
        made.min = min.value_or(0);
        return made;
    }
};

/* Operations that are gathered and applied together. It copies ids and keys. */
class Batch {
  public:
    Batch() = default;
    Batch(Batch &&) = default;
    Batch &operator=(Batch &&) = default;
    Batch(const Batch &) = delete;
    Batch &operator=(const Batch &) = delete;

    void add(Bytes id, View<const Change> changes, std::uint64_t time_ms = 0) {
        std::vector<lethe_change> made;
        for (std::size_t i = 0; i < changes.size(); i++) {
            made.push_back(changes.data()[i]);
            made.back().key = keep(changes.data()[i].key);
        }
        changes_.push_back(std::move(made));
        lethe_operation operation{};
        operation.id = keep(id);
        operation.changes = changes_.back().data();
        operation.change_count = changes_.back().size();
        operation.time_ms = time_ms;
        operations_.push_back(operation);
    }
    void add(Bytes id, std::initializer_list<Change> changes, std::uint64_t time_ms = 0) {
        add(id, View<const Change>(changes.begin(), changes.size()), time_ms);
    }
    void add(Bytes id, Bytes key, std::int64_t delta = 1, std::uint64_t time_ms = 0) {
        const Change change{key, delta};
        add(id, View<const Change>(&change, 1), time_ms);
    }
    View<const lethe_operation> operations() const noexcept {
        return {operations_.data(), operations_.size()};
    }
    std::size_t size() const noexcept {
        return operations_.size();
    }
    void clear() noexcept {
        operations_.clear();
        changes_.clear();
        texts_.clear();
    }

  private:
    /* Elements of a deque stay where they are when others are added. */
    lethe_bytes keep(Bytes bytes) {
        texts_.emplace_back(bytes.view());
        return {texts_.back().data(), texts_.back().size()};
    }

    std::deque<std::string> texts_;
    std::deque<std::vector<lethe_change>> changes_;
    std::vector<lethe_operation> operations_;
};

/* What a claim is answered, with what the answer says. */
struct Claim {
    lethe_claim_answer answer;
    lethe_claim_state state;
    std::uint64_t left_ms;
    bool reply_gone;
    std::string reply;
};

/* What a hold is answered, and how its counter stands then. */
struct Hold {
    lethe_hold_answer answer;
    lethe_limit limit;
};

class Store {
  public:
    /* Opens the store in a folder. Where options.create is set, it is made if it is missing. */
    explicit Store(const std::string &folder,
                   const lethe_store_options &options = sized<lethe_store_options>()) {
        lethe_detail said{};
        check(lethe_store_open(folder.c_str(), &options, &store_, &said), said);
        opening_ = said.text;
    }
    Store(Store &&other) noexcept
        : store_(std::exchange(other.store_, nullptr)), opening_(std::move(other.opening_)) {}
    Store &operator=(Store &&other) noexcept {
        std::swap(store_, other.store_);
        std::swap(opening_, other.opening_);
        return *this;
    }
    /* Closes the store; only close reports whether that succeeded. What was acknowledged is on disk
     * all the same. */
    ~Store() {
        (void)lethe_store_close(store_, nullptr);
    }
    void close() {
        lethe_detail said{};
        check(lethe_store_close(std::exchange(store_, nullptr), &said), said);
    }
    lethe_store *get() const noexcept {
        return store_;
    }
    /* What opening has to say: what was wrong with the store and has been mended, or that the boot
     * id cannot be read. Mostly empty. */
    const std::string &opening() const noexcept {
        return opening_;
    }

    /* --- Applying --- */

    /* Each waits until the outcome is durable. A vector has a lethe_outcome for each operation. */
    lethe_outcome apply(Bytes id, View<const Change> changes, std::uint64_t time_ms = 0) {
        std::vector<lethe_change> made(changes.data(), changes.data() + changes.size());
        lethe_operation operation{};
        operation.id = id;
        operation.changes = made.data();
        operation.change_count = made.size();
        operation.time_ms = time_ms;
        std::uint8_t outcome = 0;
        checked(lethe_store_apply(store_, &operation, 1, &outcome, nullptr));
        return static_cast<lethe_outcome>(outcome);
    }
    lethe_outcome apply(Bytes id, std::initializer_list<Change> changes,
                        std::uint64_t time_ms = 0) {
        return apply(id, View<const Change>(changes.begin(), changes.size()), time_ms);
    }
    lethe_outcome apply(Bytes id, Bytes key, std::int64_t delta = 1, std::uint64_t time_ms = 0) {
        const Change change{key, delta};
        return apply(id, View<const Change>(&change, 1), time_ms);
    }
    std::vector<std::uint8_t> apply(View<const lethe_operation> operations) {
        std::vector<std::uint8_t> outcomes(operations.size());
        checked(lethe_store_apply(store_, operations.data(), operations.size(), outcomes.data(),
                                  nullptr));
        return outcomes;
    }
    std::vector<std::uint8_t> apply(const Batch &batch) {
        return apply(batch.operations());
    }

    /* The two halves of apply. The outcomes count once wait has returned for the ticket. */
    struct Submitted {
        std::uint64_t ticket;
        std::vector<std::uint8_t> outcomes;
    };
    Submitted submit(View<const lethe_operation> operations,
                     View<const lethe_mark> marks = View<const lethe_mark>(nullptr, 0)) {
        Submitted out{0, std::vector<std::uint8_t>(operations.size())};
        checked(lethe_store_submit(store_, operations.data(), operations.size(), marks.data(),
                                   marks.size(), out.outcomes.data(), nullptr, &out.ticket));
        return out;
    }
    Submitted submit(const Batch &batch) {
        return submit(batch.operations());
    }
    void commit() {
        checked(lethe_store_commit(store_));
    }
    void wait(std::uint64_t ticket) {
        checked(lethe_store_wait(store_, ticket));
    }
    bool is_done(std::uint64_t ticket) const noexcept {
        return lethe_store_is_done(store_, ticket);
    }

    void set(Bytes key, std::int64_t value) {
        const lethe_bytes bytes = key;
        checked(lethe_store_set(store_, &bytes, &value, 1));
    }
    /* Whether the counter was there. */
    bool remove(Bytes key) {
        const lethe_bytes bytes = key;
        bool existed = false;
        checked(lethe_store_delete(store_, &bytes, 1, &existed));
        return existed;
    }

    /* --- Reading --- */

    /* Nothing, where there is no such counter. */
    std::optional<std::int64_t> get(Bytes key) const {
        const lethe_bytes bytes = key;
        std::int64_t value = 0;
        bool found = false;
        checked(lethe_store_get(store_, &bytes, 1, &value, &found));
        return found ? std::optional<std::int64_t>(value) : std::nullopt;
    }
    /* Calls visit(key, value), with a std::string_view, for each counter from `from` on, until it
     * returns false. A visit that returns nothing sees them all. It must not call the store. */
    template <class F> void each(F &&visit, Bytes from = {}) const {
        detail::Visit<F> call{visit, nullptr};
        const lethe_status status = lethe_store_each(store_, from, pass_counter<F>, &call);
        call.check_after(status, reason(status).text);
    }
    /* The same for the n largest, the largest first. */
    template <class F> void top(std::size_t n, F &&visit) const {
        detail::Visit<F> call{visit, nullptr};
        const lethe_status status = lethe_store_top(store_, n, pass_counter<F>, &call);
        call.check_after(status, reason(status).text);
    }
    /* Calls visit(row), with a const lethe_usage_row &, for each period and counter. */
    template <class F> void usage(const lethe_usage_query &query, F &&visit) const {
        detail::Visit<F> call{visit, nullptr};
        const lethe_status status = lethe_store_usage(
            store_, &query,
            [](void *context, const lethe_usage_row *row) {
                return (*static_cast<detail::Visit<F> *>(context))(*row);
            },
            &call);
        call.check_after(status, reason(status).text);
    }
    /* Calls visit(name, value) for each mark. */
    template <class F> void marks(F &&visit) const {
        detail::Visit<F> call{visit, nullptr};
        const lethe_status status = lethe_store_marks(
            store_,
            [](void *context, const lethe_mark *mark) {
                return (*static_cast<detail::Visit<F> *>(context))(Bytes(mark->name).view(),
                                                                   Bytes(mark->value).view());
            },
            &call);
        call.check_after(status, reason(status).text);
    }
    unsigned scale() const noexcept {
        return lethe_store_scale(store_);
    }
    /* A reader sees from now on what was acknowledged up to now. */
    void refresh() {
        lethe_detail said{};
        check(lethe_store_refresh(store_, &said), said);
    }
    lethe_store_stats info() const {
        auto out = sized<lethe_store_stats>();
        checked(lethe_store_info(store_, &out));
        return out;
    }

    /* --- Work that happens once: lethe/claims.h --- */

    Claim begin(Bytes id, Bytes token, std::uint64_t lease_ms, Bytes fingerprint = {}) {
        auto shown = sized<lethe_claim>();
        std::unique_ptr<lethe_claim, detail::Release<lethe_claim_free>> end(&shown);
        lethe_claim_answer answer = LETHE_CLAIM_UNKNOWN;
        checked(lethe_claim_begin(store_, id, token, fingerprint, lease_ms, &answer, &shown));
        return {answer, shown.state, shown.left_ms, shown.reply_gone,
                std::string(Bytes(shown.reply).view())};
    }
    lethe_claim_answer renew(Bytes id, Bytes token, std::uint64_t lease_ms) {
        lethe_claim_answer answer = LETHE_CLAIM_UNKNOWN;
        checked(lethe_claim_renew(store_, id, token, lease_ms, &answer));
        return answer;
    }
    lethe_claim_answer done(Bytes id, Bytes token, Bytes reply = {}) {
        lethe_claim_answer answer = LETHE_CLAIM_UNKNOWN;
        checked(lethe_claim_done(store_, id, token, reply, &answer));
        return answer;
    }
    lethe_claim_answer abort(Bytes id, Bytes token) {
        lethe_claim_answer answer = LETHE_CLAIM_UNKNOWN;
        checked(lethe_claim_abort(store_, id, token, &answer));
        return answer;
    }

    /* --- Reserve now, settle later: lethe/holds.h --- */

    Hold place(Bytes id, Bytes key, std::int64_t amount, std::int64_t max, std::uint64_t lease_ms) {
        auto hold = sized<lethe_hold>();
        hold.id = id;
        hold.key = key;
        hold.amount = amount;
        hold.max = max;
        hold.lease_ms = lease_ms;
        Hold out{LETHE_HOLD_UNKNOWN, {}};
        checked(lethe_hold_place(store_, &hold, &out.answer, &out.limit));
        return out;
    }
    Hold settle(Bytes id, std::int64_t actual, bool force = false) {
        Hold out{LETHE_HOLD_UNKNOWN, {}};
        checked(lethe_hold_settle(store_, id, actual, force ? unsigned{LETHE_SETTLE_FORCE} : 0u,
                                  &out.answer, &out.limit));
        return out;
    }
    lethe_hold_answer release(Bytes id) {
        lethe_hold_answer answer = LETHE_HOLD_UNKNOWN;
        checked(lethe_hold_release(store_, id, &answer));
        return answer;
    }

    /* --- Backups --- */

    static lethe_backup backup(const std::string &folder, const std::string &backups) {
        auto out = sized<lethe_backup>();
        lethe_detail said{};
        check(lethe_store_backup(folder.c_str(), backups.c_str(), &out, &said), said);
        return out;
    }
    /* number 0 is the latest. */
    static lethe_backup restore(const std::string &backups, const std::string &folder,
                                std::uint64_t number = 0) {
        auto out = sized<lethe_backup>();
        lethe_detail said{};
        check(lethe_store_restore(backups.c_str(), number, folder.c_str(), &out, &said), said);
        return out;
    }

  private:
    lethe_detail reason(lethe_status status) const noexcept {
        lethe_detail said{};
        if (status != LETHE_OK) lethe_store_explain(store_, &said);
        return said;
    }
    void checked(lethe_status status) const {
        if (status != LETHE_OK) raise(status, reason(status).text);
    }
    template <class F>
    static bool pass_counter(void *context, lethe_bytes key, std::int64_t value) {
        return (*static_cast<detail::Visit<F> *>(context))(Bytes(key).view(), value);
    }

    lethe_store *store_ = nullptr;
    std::string opening_;
};

} // namespace lethe

#endif
