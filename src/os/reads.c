/* os/reads.c - batches of reads through io_uring, or through threads that wait in pread.
 *
 * IDEA    A fixed number of slots, each with its buffer. While the list lasts, every slot has a
 *         read in flight; a read that is done is shown, and its slot takes the next.
 * I1      At the end of a batch no read is in flight, whatever went wrong: the kernel or a thread
 *         would write into a buffer that somebody else has by then.
 * I2      A ring that fails for good is given up: what it has in flight is awaited, the rest of the
 *         batch is read one after the other, and the batches after it go through threads.
 * WHY     Threads reach nearly what io_uring reaches, at one context switch per read: enough where
 *         containers refuse it. Short reads are completed by pread, since they don't happen with
 *         regular files. */
#include "os/reads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <liburing.h>

#include "os/block_file.h"
#include "os/file.h"
#include "os/memory.h"
#include "os/thread.h"

enum { MAX_THREADS = 32, MOST_REFUSALS = 1000, POLL_MS = 1 };

struct slot {
    unsigned char *buffer;
    size_t index;        /* of the list */
    lethe_status status; /* of the read, when it is done */
    bool is_done;        /* threads: waits to be shown */
    bool is_taken;       /* io_uring: has a read that was not shown */
};

struct lethe_os_reads {
    bool uses_uring;
    unsigned slot_count;
    uint32_t largest_bytes;
    unsigned char *buffers;
    struct slot *slots;
    struct io_uring ring;
    /* Threads: one per slot, for the first slots. What follows is under the lock. */
    lethe_os_lock lock;
    lethe_os_condition work, finished;
    lethe_os_thread *threads;
    unsigned thread_count;
    unsigned next_thread; /* which slot the next thread takes */
    const lethe_os_read *list;
    size_t next, end; /* of the list: what nobody reads yet */
    size_t in_flight; /* read or not yet shown */
    bool ends;
};

/* Reads what is left of one read, without haste. */
static lethe_status read_rest(const lethe_os_read *read, unsigned char *buffer, size_t done) {
    lethe_os_block_file file = {.descriptor = read->descriptor};
    return lethe_os_block_read(&file, read->offset + done, buffer + done, read->size - done);
}

static void *read_in_thread(void *context) {
    lethe_os_reads *reads = context;
    lethe_os_lock_take(&reads->lock);
    struct slot *slot = &reads->slots[reads->next_thread++];
    for (;;) {
        while (!reads->ends && (slot->is_done || reads->next == reads->end))
            lethe_os_condition_wait(&reads->work, &reads->lock);
        if (reads->ends) break;
        slot->index = reads->next++;
        reads->in_flight++;
        const lethe_os_read *read = &reads->list[slot->index];
        lethe_os_lock_give(&reads->lock);
        lethe_status status = read_rest(read, slot->buffer, 0);
        lethe_os_lock_take(&reads->lock);
        slot->status = status;
        slot->is_done = true;
        lethe_os_condition_wake_all(&reads->finished);
    }
    lethe_os_lock_give(&reads->lock);
    return NULL;
}

static lethe_status start_threads(lethe_os_reads *reads) {
    unsigned most = reads->slot_count < MAX_THREADS ? reads->slot_count : MAX_THREADS;
    reads->threads = calloc(most, sizeof *reads->threads);
    if (reads->threads == NULL) return LETHE_ENOMEM;
    for (; reads->thread_count < most; reads->thread_count++) {
        lethe_status status =
            lethe_os_thread_start(&reads->threads[reads->thread_count], read_in_thread, reads);
        if (status != LETHE_OK && reads->thread_count == 0) return status;
        if (status != LETHE_OK) break; /* fewer will do */
    }
    return LETHE_OK;
}

static bool start_uring(lethe_os_reads *reads) {
    return io_uring_queue_init(reads->slot_count, &reads->ring, 0) == 0;
}

static lethe_status allocate_slots(lethe_os_reads *reads, unsigned count) {
    reads->slot_count = count;
    reads->slots = calloc(count, sizeof *reads->slots);
    reads->buffers = lethe_os_map((size_t)count * reads->largest_bytes);
    if (reads->slots == NULL || reads->buffers == NULL) return LETHE_ENOMEM;
    for (unsigned i = 0; i < count; i++)
        reads->slots[i].buffer = reads->buffers + (size_t)i * reads->largest_bytes;
    return LETHE_OK;
}

lethe_status lethe_os_reads_new(lethe_os_reads_kind kind, unsigned depth, uint32_t largest_bytes,
                                lethe_os_reads **out) {
    *out = NULL;
    lethe_os_reads *reads = calloc(1, sizeof *reads);
    if (reads == NULL) return LETHE_ENOMEM;
    reads->largest_bytes = largest_bytes;
    lethe_os_lock_init(&reads->lock);
    lethe_os_condition_init(&reads->work);
    lethe_os_condition_init(&reads->finished);
    lethe_status status = allocate_slots(reads, depth);
    if (status == LETHE_OK && kind != LETHE_OS_READS_THREADS)
        reads->uses_uring = start_uring(reads);
    if (status == LETHE_OK && !reads->uses_uring) {
        status = kind == LETHE_OS_READS_URING ? LETHE_EINVAL : start_threads(reads);
    }
    if (status != LETHE_OK) {
        lethe_os_reads_free(reads);
        return status;
    }
    *out = reads;
    return LETHE_OK;
}

void lethe_os_reads_free(lethe_os_reads *reads) {
    if (reads == NULL) return;
    if (reads->uses_uring) io_uring_queue_exit(&reads->ring);
    lethe_os_lock_take(&reads->lock);
    reads->ends = true;
    lethe_os_condition_wake_all(&reads->work);
    lethe_os_lock_give(&reads->lock);
    for (unsigned i = 0; i < reads->thread_count; i++)
        lethe_os_thread_join(&reads->threads[i]);
    free(reads->threads);
    if (reads->buffers != NULL) {
        lethe_os_unmap(reads->buffers, (size_t)reads->slot_count * reads->largest_bytes);
    }
    free(reads->slots);
    lethe_os_condition_drop(&reads->work);
    lethe_os_condition_drop(&reads->finished);
    lethe_os_lock_drop(&reads->lock);
    free(reads);
}

bool lethe_os_reads_use_uring(const lethe_os_reads *reads) {
    return reads->uses_uring;
}

static struct slot *find_done(lethe_os_reads *reads) {
    for (unsigned i = 0; i < reads->slot_count; i++) {
        if (reads->slots[i].is_done) return &reads->slots[i];
    }
    return NULL;
}

static lethe_status run_threads(lethe_os_reads *reads, const lethe_os_read *list, size_t count,
                                lethe_os_read_done done, void *context) {
    lethe_status status = LETHE_OK;
    lethe_os_lock_take(&reads->lock);
    reads->list = list;
    reads->next = 0;
    reads->end = count;
    lethe_os_condition_wake_all(&reads->work);
    while (reads->in_flight > 0 || reads->next < reads->end) {
        struct slot *slot = find_done(reads);
        if (slot == NULL) {
            lethe_os_condition_wait(&reads->finished, &reads->lock);
            continue;
        }
        lethe_os_lock_give(&reads->lock);
        if (status == LETHE_OK) status = slot->status;
        if (status == LETHE_OK) status = done(context, slot->index, slot->buffer);
        lethe_os_lock_take(&reads->lock);
        slot->is_done = false;
        reads->in_flight--;
        if (status != LETHE_OK) reads->next = reads->end;
        if (reads->next < reads->end) lethe_os_condition_wake_all(&reads->work);
    }
    lethe_os_lock_give(&reads->lock);
    return status;
}

static void submit(lethe_os_reads *reads, const lethe_os_read *list, unsigned number,
                   size_t index) {
    struct slot *slot = &reads->slots[number];
    slot->index = index;
    slot->is_taken = true;
    struct io_uring_sqe *entry = io_uring_get_sqe(&reads->ring); /* there are as many as slots */
    io_uring_prep_read(entry, list[index].descriptor, slot->buffer, list[index].size,
                       list[index].offset);
    io_uring_sqe_set_data64(entry, number);
}

/* What a completed read's result means; completes a short one. */
static lethe_status judge(const lethe_os_read *read, struct slot *slot, int result) {
    if (lethe_os_is_faulted(LETHE_OS_READ)) return lethe_os_status_from_errno();
    if (result == (int)read->size) return LETHE_OK;
    if (result >= 0) return read_rest(read, slot->buffer, (size_t)result);
    if (result == -EINTR || result == -EAGAIN) return read_rest(read, slot->buffer, 0);
    errno = -result;
    return lethe_os_status_from_errno();
}

/* A batch under way through the ring. */
struct batch {
    const lethe_os_read *list;
    size_t count, next; /* of the list: what no slot has yet */
    size_t in_flight;   /* in slots: with the kernel, or not yet taken by it */
    lethe_os_read_done done;
    void *context;
    lethe_status status; /* the first that went wrong */
};

static void show(struct batch *batch, const struct slot *slot, lethe_status status) {
    batch->status =
        status == LETHE_OK ? batch->done(batch->context, slot->index, slot->buffer) : status;
}

/* Shows what the ring has completed, and gives its slots the next reads unless it is given up. */
static void take_completed(lethe_os_reads *reads, struct batch *batch, bool goes_on) {
    struct io_uring_cqe *completion;
    while (batch->in_flight > 0 && io_uring_peek_cqe(&reads->ring, &completion) == 0) {
        unsigned number = (unsigned)io_uring_cqe_get_data64(completion);
        int result = completion->res;
        io_uring_cqe_seen(&reads->ring, completion);
        struct slot *slot = &reads->slots[number];
        slot->is_taken = false;
        batch->in_flight--;
        if (batch->status == LETHE_OK) {
            show(batch, slot, judge(&batch->list[slot->index], slot, result));
        }
        if (goes_on && batch->status == LETHE_OK && batch->next < batch->count) {
            submit(reads, batch->list, number, batch->next++);
            batch->in_flight++;
        }
    }
}

/* Reads in this thread, one after the other: what slots still have, and what no slot has. */
static void read_here(lethe_os_reads *reads, struct batch *batch) {
    for (unsigned i = 0; i < reads->slot_count; i++) {
        struct slot *slot = &reads->slots[i];
        if (slot->is_taken && batch->status == LETHE_OK) {
            show(batch, slot, read_rest(&batch->list[slot->index], slot->buffer, 0));
        }
        slot->is_taken = false;
    }
    struct slot *slot = &reads->slots[0];
    while (batch->next < batch->count && batch->status == LETHE_OK) {
        slot->index = batch->next++;
        show(batch, slot, read_rest(&batch->list[slot->index], slot->buffer, 0));
    }
}

/* Gives the ring up. What the kernel took completes though it can't be asked to wait for it; what
 * it did not take, it never will. */
static void leave_uring(lethe_os_reads *reads, struct batch *batch) {
    for (;;) {
        take_completed(reads, batch, false);
        if (batch->in_flight <= io_uring_sq_ready(&reads->ring)) break;
        lethe_os_lock_take(&reads->lock); /* nobody else has it: this only lets time pass */
        lethe_os_condition_wait_for(&reads->finished, &reads->lock, POLL_MS);
        lethe_os_lock_give(&reads->lock);
    }
    read_here(reads, batch);
    io_uring_queue_exit(&reads->ring);
    reads->uses_uring = false;
    (void)start_threads(reads); /* without one, the caller reads */
}

static bool is_transient(int error) {
    return error == -EINTR || error == -EAGAIN || error == -EBUSY;
}

static lethe_status run_uring(lethe_os_reads *reads, struct batch *batch) {
    while (batch->next < batch->count && batch->next < reads->slot_count) {
        submit(reads, batch->list, (unsigned)batch->next, batch->next);
        batch->next++;
        batch->in_flight++;
    }
    unsigned refusals =
        0; /* in a row, while the kernel has nothing that could make it change its mind */
    while (batch->in_flight > 0) {
        int error = io_uring_submit_and_wait(&reads->ring, 1);
        bool waits = batch->in_flight > io_uring_sq_ready(&reads->ring);
        refusals = error >= 0 || waits ? 0 : refusals + 1;
        if ((error < 0 && !is_transient(error)) || refusals == MOST_REFUSALS) {
            leave_uring(reads, batch);
            break;
        }
        take_completed(reads, batch, true);
    }
    return batch->status;
}

lethe_status lethe_os_reads_run(lethe_os_reads *reads, const lethe_os_read *list, size_t count,
                                lethe_os_read_done done, void *context) {
    if (count == 0) return LETHE_OK;
    if (reads->thread_count > 0) return run_threads(reads, list, count, done, context);
    struct batch batch = {.list = list, .count = count, .done = done, .context = context};
    if (reads->uses_uring) return run_uring(reads, &batch);
    read_here(reads, &batch);
    return batch.status;
}
