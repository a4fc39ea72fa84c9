"""A filter of duplicate requests for Scrapy, for crawls of more pages than fit in memory.

    DUPEFILTER_CLASS = "scrapy_dupefilter.LetheDupeFilter"
    LETHE_DUPEFILTER_CAPACITY = 1_000_000_000     # requests to plan for
    LETHE_DUPEFILTER_ERROR = 1e-9                 # the share of new requests that may be dropped

Scrapy's own filter keeps a fingerprint of 40 characters for each request in a Python set: about 130
bytes. This one keeps 5 to 8 bytes, on disk. With a JOBDIR the crawl can be continued; without one
the folder is temporary.
"""

import os
import shutil
import tempfile

import lethe

try:
    from scrapy.dupefilters import BaseDupeFilter
    from scrapy.utils.request import RequestFingerprinter
except ImportError:  # the class can be tried without Scrapy
    BaseDupeFilter = object
    RequestFingerprinter = None


class LetheDupeFilter(BaseDupeFilter):
    def __init__(self, folder=None, capacity=1 << 30, error=1e-9, fingerprinter=None):
        self.own_folder = None if folder else tempfile.mkdtemp(prefix="lethe-dupefilter-")
        self.seen = lethe.Cascade(folder or os.path.join(self.own_folder, "requests"),
                                  capacity=capacity, error=error, memory_bytes=64 << 20)
        self.fingerprinter = fingerprinter or RequestFingerprinter()
        self.dropped = 0

    @classmethod
    def from_crawler(cls, crawler):
        settings = crawler.settings
        jobs = settings.get("JOBDIR")
        if jobs:
            os.makedirs(jobs, exist_ok=True)
        return cls(os.path.join(jobs, "requests.cascade") if jobs else None,
                   settings.getint("LETHE_DUPEFILTER_CAPACITY", 1 << 30),
                   settings.getfloat("LETHE_DUPEFILTER_ERROR", 1e-9),
                   getattr(crawler, "request_fingerprinter", None))

    def request_seen(self, request):
        seen = self.seen.add_and_test(self.fingerprinter.fingerprint(request))
        if not seen:
            self.seen.work()  # a little merging with each page
        return seen

    def log(self, request, spider):
        self.dropped += 1
        spider.crawler.stats.inc_value("dupefilter/filtered", spider=spider)

    def close(self, reason=""):
        self.seen.close()
        if self.own_folder:
            shutil.rmtree(self.own_folder, ignore_errors=True)
