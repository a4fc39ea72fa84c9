#!/usr/bin/python3
"""Counts likes that are sent more than once, and ships an order once.

usage: example.py [redis://host:port]
"""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import redis

from lethe_once import Once


def main():
    client = redis.Redis.from_url(sys.argv[1] if len(sys.argv) > 1 else "redis://127.0.0.1:6379")
    likes = Once(client, "{example}likes")
    likes.create(window_ms=600000)

    clicks = [("click-1", "post:1"), ("click-2", "post:2"), ("click-2", "post:2"), ("click-3", "post:1")]
    for identity, post in clicks:
        result = likes.incrby(post, 1, id=identity)
        print(identity, post, "counted" if result.applied else "seen before", result.values[0])

    @likes.idempotent(id=lambda order: f"order-{order}")
    def ship(order):
        return "LPUSH", "{example}shipped", order

    for order in (7, 8, 7):
        done, length = ship(order)
        print("order", order, f"shipped, {length} in all" if done else "shipped before")
    print(likes.top(2))


if __name__ == "__main__":
    main()
