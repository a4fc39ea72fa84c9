"""Goal: the recipes of docs/python.md do what they say.
Method: each beside what it stands in for: pandas' own drop_duplicates, Scrapy's own filter, a dict."""

import asyncio
import random

import pytest

import lethe

numpy = pytest.importorskip("numpy")


@pytest.mark.parametrize("subset", [None, ["id"], ["name"], ["id", "name"]])
def test_drop_duplicates_of_a_table(subset, tmp_path):
    pandas = pytest.importorskip("pandas")
    from drop_duplicates import drop_duplicates

    source = random.Random(3)
    table = pandas.DataFrame({"id": [source.randrange(500) for _ in range(5000)],
                              "name": [source.choice(["a", "b", "grün"]) for _ in range(5000)]})
    chunks = [table[at:at + 700] for at in range(0, 5000, 700)]
    left = pandas.concat(drop_duplicates(chunks, tmp_path / "seen", subset, memory_bytes=1 << 20,
                                         capacity=10_000))
    pandas.testing.assert_frame_equal(left, table.drop_duplicates(subset))
    # A second run knows what the first one saw.
    again = list(drop_duplicates(chunks, tmp_path / "seen", subset, capacity=10_000))
    assert sum(len(frame) for frame in again) == 0


def test_rows_are_told_apart():
    from drop_duplicates import row_id

    assert len({row_id(row) for row in (("a", "bc"), ("ab", "c"), (1,), ("1",), (1.0,))}) == 5


class Fingerprints:
    """What a Scrapy fingerprinter gives, for the class without Scrapy."""

    def fingerprint(self, request):
        return str(request).encode()


def test_requests_without_scrapy(tmp_path):
    from scrapy_dupefilter import LetheDupeFilter

    first = LetheDupeFilter(str(tmp_path / "jobs"), fingerprinter=Fingerprints())
    assert [first.request_seen(request) for request in "abacb"] == [False, False, True, False, True]
    first.close("finished")
    second = LetheDupeFilter(str(tmp_path / "jobs"), fingerprinter=Fingerprints())
    assert second.request_seen("a") and not second.request_seen("d")
    second.close("finished")
    temporary = LetheDupeFilter(fingerprinter=Fingerprints())
    assert not temporary.request_seen("a")
    folder = temporary.own_folder
    temporary.close()
    assert not (tmp_path / folder).exists()


def test_requests_of_scrapy(tmp_path):
    scrapy = pytest.importorskip("scrapy")
    from scrapy.dupefilters import RFPDupeFilter
    from scrapy.utils.test import get_crawler
    from scrapy_dupefilter import LetheDupeFilter

    crawler = get_crawler(settings_dict={
        "JOBDIR": str(tmp_path / "job"), "DUPEFILTER_CLASS": "scrapy_dupefilter.LetheDupeFilter",
        "LETHE_DUPEFILTER_CAPACITY": 100_000, "REQUEST_FINGERPRINTER_IMPLEMENTATION": "2.7"})
    ours, theirs = LetheDupeFilter.from_crawler(crawler), RFPDupeFilter.from_crawler(crawler)
    source = random.Random(4)
    for _ in range(500):
        request = scrapy.Request(f"http://example.com/{source.randrange(300)}?b=2&a=1",
                                 method=source.choice(["GET", "POST"]))
        assert ours.request_seen(request) == theirs.request_seen(request)
    ours.log(request, crawler._create_spider("spider"))
    assert crawler.stats.get_value("dupefilter/filtered") == 1
    ours.close("finished")
    theirs.close("finished")


def test_a_stream_in_asyncio(tmp_path):
    from counting_stream import Counter

    async def client(counter, name, totals):
        source = random.Random(name)
        for _ in range(200):
            event = source.randrange(500)
            outcome = await counter.count(f"event {event}", f"key {event % 7}", event)
            totals[outcome] = totals.get(outcome, 0) + 1

    async def run():
        totals = {}
        async with Counter(tmp_path / "store") as counter:
            await asyncio.gather(*(client(counter, name, totals) for name in range(20)))
            gone = asyncio.ensure_future(counter.count("x", "x"))
            gone.cancel()
            with pytest.raises((TypeError, ValueError)):
                await counter.count(None, "key")
            assert await counter.count("late", "key") is lethe.Outcome.APPLIED
        with pytest.raises(lethe.ClosedError):
            await counter.count("after", "key")
        return totals

    totals = asyncio.run(run())
    seen = {event for name in range(20) for source in [random.Random(name)]
            for event in [source.randrange(500) for _ in range(200)]}
    assert totals == {lethe.Outcome.APPLIED: len(seen),
                      lethe.Outcome.DUPLICATE: 20 * 200 - len(seen)}
    with lethe.Store(tmp_path / "store") as store:
        for rest in range(7):
            assert store[f"key {rest}"] == sum(event for event in seen if event % 7 == rest)
