#!/usr/bin/env python3
"""Loads the station's tables into a SQLite database, and asks it for the surge.

An example of tasks that take up what others have left: files of the tasks before this one lie below
$TIDEWHEEL_WORK_DIR/inputs/<task>/, and what is written to $TIDEWHEEL_OUTPUT is there for the tasks after it.
"""
import csv
import json
import os
import shutil
import sqlite3
import sys
from pathlib import Path

INPUTS = Path(os.environ["TIDEWHEEL_WORK_DIR"]) / "inputs"
DATABASE = Path(os.environ["TIDEWHEEL_ARTIFACTS"]) / "station.db"


def hand_on(**outputs) -> None:
    Path(os.environ["TIDEWHEEL_OUTPUT"]).write_text(json.dumps(outputs))


def load() -> None:
    database = sqlite3.connect(DATABASE)
    rows = 0
    for table in ("readings", "weather"):
        with open(INPUTS / table / f"{table}.csv", newline="") as file:
            head, *lines = csv.reader(file)
        database.execute(f"CREATE TABLE {table} ({', '.join(head)})")
        database.executemany(f"INSERT INTO {table} VALUES ({', '.join('?' * len(head))})", lines)
        rows += len(lines)
        print(f"{len(lines)} rows into {table}")
    database.commit()
    database.close()
    hand_on(rows=rows)


def surge() -> None:
    shutil.copy(INPUTS / "load" / "station.db", DATABASE)
    database = sqlite3.connect(DATABASE)
    found = database.execute(
        "SELECT wind, count(*), max(round(height - predicted, 2)) AS surge "
        "FROM readings JOIN weather USING (hour) GROUP BY wind ORDER BY surge DESC").fetchall()
    database.close()
    for wind, hours, height in found:
        print(f"{wind:<12} {hours:>2} hours, up to {height:.2f} m above the prediction")
    hand_on(rows=len(found), wind=found[0][0], highest=found[0][2])


if __name__ == "__main__":
    {"load": load, "surge": surge}[sys.argv[1]]()
