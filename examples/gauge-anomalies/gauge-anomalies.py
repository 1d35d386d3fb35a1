#!/usr/bin/env python3
"""Finds readings of a tide gauge that do not fit their neighbours.

An example of a Python program that Tidewheel runs: the payload is JSON on standard input, a line `::progress` moves
the progress bar, and the exit status says how it went (65: bad data, never tried again).
"""
import json
import statistics
import sys

WINDOW = 4  # readings on each side


def main() -> int:
    try:
        payload = json.load(sys.stdin)
        readings = [float(r) for r in payload["readings"]]
        threshold = float(payload.get("threshold", 3.5))
    except (ValueError, KeyError, TypeError) as fault:
        print(f"the payload is not what it should be: {fault!r}", file=sys.stderr)
        return 65
    found = []
    for i, reading in enumerate(readings):
        near = readings[max(0, i - WINDOW):i] + readings[i + 1:i + 1 + WINDOW]
        middle = statistics.median(near)
        # Median absolute deviation; 0.6745 scales it to the standard deviation of a normal distribution
        # (Iglewicz and Hoaglin, 1993).
        spread = statistics.median(abs(n - middle) for n in near) or 1e-9
        score = 0.6745 * abs(reading - middle) / spread
        if score > threshold and abs(reading - middle) > 1:
            found.append((i, reading, middle))
        if i % 8 == 7:
            print(f"::progress {(i + 1) / len(readings):.2f} {i + 1} of {len(readings)} readings")
    print(f"gauge {payload.get('gauge', '?')}: {len(readings)} readings, {len(found)} do not fit")
    for i, reading, middle in found:
        print(f"  reading {i}: {reading:+.2f} m where its neighbours have {middle:+.2f} m")
    return 0


if __name__ == "__main__":
    sys.exit(main())
