/* lethe/base.hpp - what the C++ types of Lethe have in common: errors, bytes, views, ownership.
 *
 * Include lethe/lethe.hpp, or lethe/store.hpp, which include this. */
#ifndef LETHE_BASE_HPP
#define LETHE_BASE_HPP

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "lethe/allocator.h"
#include "lethe/hash.h"
#include "lethe/io.h"
#include "lethe/status.h"

namespace lethe {

/* --- Errors --- */

/* Every error of Lethe. what() is the detail that the library gives, or the phrase of
 * lethe_strerror where there is none. */
class Error : public std::runtime_error {
  public:
    Error(lethe_status status, const std::string &text)
        : std::runtime_error(text), status_(status) {}
    lethe_status status() const noexcept {
        return status_;
    }

  private:
    lethe_status status_;
};

/* The error of one status, so that it can be caught by itself. */
template <lethe_status Status> class ErrorOf final : public Error {
  public:
    explicit ErrorOf(const std::string &text) : Error(Status, text) {}
};

using InvalidArgument = ErrorOf<LETHE_EINVAL>;
using OutOfMemory = ErrorOf<LETHE_ENOMEM>;
using Mismatch = ErrorOf<LETHE_EMISMATCH>;
using Full = ErrorOf<LETHE_EFULL>;
using WrongType = ErrorOf<LETHE_ETYPE>;
using NewerVersion = ErrorOf<LETHE_EVERSION>;
using Corrupt = ErrorOf<LETHE_ECORRUPT>;
using InputOutput = ErrorOf<LETHE_EIO>;
using NoSpace = ErrorOf<LETHE_ENOSPACE>;
using NotFound = ErrorOf<LETHE_ENOTFOUND>;
using Busy = ErrorOf<LETHE_EBUSY>;
using DeviceLost = ErrorOf<LETHE_EDEVICE>;

/* Throws the error of a status, with a text or, if that is empty, the status's phrase. */
[[noreturn]] inline void raise(lethe_status status, const char *text = "") {
    const std::string said = text[0] != '\0' ? text : lethe_strerror(status);
    switch (status) {
    case LETHE_EINVAL:
        throw InvalidArgument(said);
    case LETHE_ENOMEM:
        throw OutOfMemory(said);
    case LETHE_EMISMATCH:
        throw Mismatch(said);
    case LETHE_EFULL:
        throw Full(said);
    case LETHE_ETYPE:
        throw WrongType(said);
    case LETHE_EVERSION:
        throw NewerVersion(said);
    case LETHE_ECORRUPT:
        throw Corrupt(said);
    case LETHE_EIO:
        throw InputOutput(said);
    case LETHE_ENOSPACE:
        throw NoSpace(said);
    case LETHE_ENOTFOUND:
        throw NotFound(said);
    case LETHE_EBUSY:
        throw Busy(said);
    case LETHE_EDEVICE:
        throw DeviceLost(said);
    case LETHE_OK:
        break;
    }
    throw Error(status, said);
}

/* Throws unless a call of the C interface succeeded. */
inline void check(lethe_status status) {
    if (status != LETHE_OK) raise(status);
}
inline void check(lethe_status status, const lethe_detail &detail) {
    if (status != LETHE_OK) raise(status, detail.text);
}

/* --- Arguments --- */

/* Options or statistics of the C interface: the size is set, the rest is zero.
 *
 *     auto options = lethe::sized<lethe_bloom_options>();
 *     options.capacity = 1000000;
 *     lethe::Bloom seen(options); */
template <class T> T sized() {
    T made{};
    made.size = sizeof made;
    return made;
}

namespace detail {
template <class C> using pointed = std::remove_pointer_t<decltype(std::data(std::declval<C &>()))>;
/* What a container has; no type for one of void, such as Bytes. */
template <class C> using element_of = std::enable_if_t<!std::is_void_v<pointed<C>>, pointed<C>>;
template <class C, class = void> struct is_bytes : std::false_type {};
template <class C>
struct is_bytes<C, std::void_t<decltype(std::size(std::declval<C &>())), element_of<C>>>
    : std::bool_constant<sizeof(element_of<C>) == 1 &&
                         std::is_trivially_copyable_v<element_of<C>>> {};
template <class C, class T, class = void> struct is_view_of : std::false_type {};
template <class C, class T>
struct is_view_of<C, T, std::void_t<decltype(std::size(std::declval<C &>())), element_of<C>>>
    : std::is_convertible<element_of<C> (*)[], T (*)[]> {};
} // namespace detail

/* Some bytes of the caller's: a text, a string_view, or anything contiguous whose elements are one
 * byte each, such as std::vector<std::byte> or std::span<const char>. They are not copied. */
class Bytes {
  public:
    constexpr Bytes() noexcept = default;
    /* Explicit: {"likes", 3} would otherwise be the key "lik" wherever a key is taken. */
    constexpr explicit Bytes(const void *data, std::size_t size) noexcept
        : data_(data), size_(size) {}
    Bytes(const char *text) noexcept : Bytes(std::string_view(text)) {}
    Bytes(std::string_view text) noexcept : data_(text.data()), size_(text.size()) {}
    Bytes(lethe_bytes bytes) noexcept : data_(bytes.data), size_(bytes.size) {}
    template <class C,
              class = std::enable_if_t<detail::is_bytes<const C>::value && !std::is_array_v<C>>>
    Bytes(const C &bytes) noexcept : data_(std::data(bytes)), size_(std::size(bytes)) {}

    const void *data() const noexcept {
        return data_;
    }
    std::size_t size() const noexcept {
        return size_;
    }
    std::string_view view() const noexcept {
        return {static_cast<const char *>(data_), size_};
    }
    operator lethe_bytes() const noexcept {
        return lethe_bytes{data_, size_};
    }

  private:
    const void *data_ = nullptr;
    std::size_t size_ = 0;
};

/* An array of the caller's: what std::span is from C++20 on. It is not copied. */
template <class T> class View {
  public:
    constexpr View(T *data, std::size_t size) noexcept : data_(data), size_(size) {}
    template <class C, class = std::enable_if_t<detail::is_view_of<C, T>::value>>
    constexpr View(C &&from) noexcept : data_(std::data(from)), size_(std::size(from)) {}

    T *data() const noexcept {
        return data_;
    }
    std::size_t size() const noexcept {
        return size_;
    }

  private:
    T *data_;
    std::size_t size_;
};

/* What a batch answers, one for each item: 1 or 0, or a lethe_answer. */
using Answers = std::vector<std::uint8_t>;

/* --- Ownership --- */

namespace detail {
template <auto Free> struct Release {
    template <class T> void operator()(T *object) const noexcept {
        Free(object);
    }
};

/* Owns an object of the C interface. It can be moved and not copied. After a move, and after
 * release, only assignment and destruction are allowed. */
template <class T, auto Free> class Owner {
  public:
    /* For functions of the C interface that have no counterpart here. */
    T *get() const noexcept {
        return object_.get();
    }
    /* The caller owns the object from now on. */
    T *release() noexcept {
        return object_.release();
    }

  protected:
    explicit Owner(T *object) noexcept : object_(object) {}
    /* The object that a function makes from options. */
    template <class Options>
    static T *made(lethe_status (*make)(const Options *, T **), const Options &options) {
        T *object = nullptr;
        check(make(&options, &object));
        return object;
    }
    static T *copied(lethe_status (*copy)(const T *, T **), const T *from) {
        T *object = nullptr;
        check(copy(from, &object));
        return object;
    }
    std::string saved(lethe_status (*save)(const T *, lethe_sink)) const {
        lethe_memory_writer writer{};
        std::unique_ptr<lethe_memory_writer, Release<lethe_memory_writer_free>> end(&writer);
        check(save(get(), lethe_sink_to_memory(&writer)));
        return {static_cast<const char *>(writer.data), writer.size};
    }
    static T *loaded(lethe_status (*load)(lethe_source, const lethe_allocator *, T **),
                     Bytes bytes) {
        lethe_memory_reader reader{bytes.data(), bytes.size(), 0};
        T *object = nullptr;
        check(load(lethe_source_from_memory(&reader), nullptr, &object));
        return object;
    }
    void save_to(lethe_status (*save)(const T *, const char *, lethe_detail *),
                 const std::string &path) const {
        lethe_detail said{};
        check(save(get(), path.c_str(), &said), said);
    }
    static T *load_from(lethe_status (*load)(const char *, const lethe_allocator *, T **,
                                             lethe_detail *),
                        const std::string &path) {
        lethe_detail said{};
        T *object = nullptr;
        check(load(path.c_str(), nullptr, &object, &said), said);
        return object;
    }

  private:
    std::unique_ptr<T, Release<Free>> object_;
};

/* Carries a function object through a callback of the C interface. An exception ends the visit, and
 * goes on once the C function has returned. */
template <class F> struct Visit {
    F &call;
    std::exception_ptr failure;

    template <class... Arguments> bool operator()(Arguments &&...arguments) noexcept {
        try {
            if constexpr (std::is_void_v<std::invoke_result_t<F &, Arguments...>>) {
                call(std::forward<Arguments>(arguments)...);
                return true;
            } else {
                return static_cast<bool>(call(std::forward<Arguments>(arguments)...));
            }
        } catch (...) {
            failure = std::current_exception();
            return false;
        }
    }
    void check_after(lethe_status status, const char *text = "") const {
        if (failure) std::rethrow_exception(failure);
        if (status != LETHE_OK) raise(status, text);
    }
};

/* The hashes of keys, each of them Bytes or an integer of 64 bits. */
template <class Keys> std::vector<lethe_hash> hashes(std::uint64_t seed, const Keys &keys) {
    std::vector<lethe_hash> out;
    out.reserve(std::size(keys));
    for (const auto &key : keys) {
        if constexpr (std::is_integral_v<std::decay_t<decltype(key)>>) {
            out.push_back(lethe_hash_u64(seed, static_cast<std::uint64_t>(key)));
        } else {
            const Bytes bytes(key);
            out.push_back(lethe_hash_bytes(seed, bytes.data(), bytes.size()));
        }
    }
    return out;
}

inline lethe_hash hash(std::uint64_t seed, Bytes key) noexcept {
    return lethe_hash_bytes(seed, key.data(), key.size());
}
} // namespace detail

} // namespace lethe

#endif
