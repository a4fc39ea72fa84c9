"""Drops duplicates from a table that is larger than memory, a chunk at a time.

pandas.DataFrame.drop_duplicates needs all rows at once. Here every chunk is asked of a cascade
filter, which keeps a few bytes for each row on disk; a row that came in an earlier chunk, or an
earlier run, is dropped. A new row is taken for a duplicate with the probability `error`.
"""

import lethe


def drop_duplicates(chunks, folder, subset=None, capacity=1 << 30, error=1e-9,
                    memory_bytes=256 << 20):
    """Yields each frame of chunks without the rows whose columns `subset` came before."""
    with lethe.Cascade(folder, capacity=capacity, error=error,
                       memory_bytes=memory_bytes) as seen:
        for frame in chunks:
            yield frame[~row_is_known(seen, frame, subset)]


def row_is_known(seen, frame, subset=None):
    """Which rows of a frame were seen before, as an array of bool; remembers the others."""
    columns = list(frame.columns) if subset is None else list(subset)
    if len(columns) == 1 and frame[columns[0]].dtype.kind in "iu":
        keys = frame[columns[0]].to_numpy()
    else:
        keys = [row_id(row) for row in frame[columns].itertuples(index=False, name=None)]
    import numpy

    return numpy.asarray(seen.add_and_test_many(keys))


def row_id(row):
    """One key of several fields. The length of each comes first, so that ("a", "bc") and
    ("ab", "c") differ; its type, so that 1 and "1" do."""
    return lethe.join_id(*(f"{type(field).__name__}:{field}" for field in row))
