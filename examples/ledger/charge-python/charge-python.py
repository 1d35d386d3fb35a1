#!/usr/bin/env python3
"""Charges customers, each exactly once a run, however often it is killed on the way.

CUSTOMERS are their names, ACCOUNT is a file that gets a line for each charge, PAUSE is how many seconds it waits before
each step, to have time to kill it.
"""
import json
import os
import sys
import time
import urllib.error
import urllib.request

RETRY = 75  # this attempt cannot continue: another one may

# --- the client.


class Fenced(Exception):
    """Another attempt has taken over: stop, and change nothing."""


def ask(method, key, result=None):
    """Asks the ledger, through some seconds without a server, and gives the HTTP status and the answer."""
    request = urllib.request.Request(
        os.environ["TIDEWHEEL_API"] + "/effects/" + key,
        method=method,
        data=None if result is None else json.dumps(result).encode(),
        headers={"Authorization": "Bearer " + os.environ["TIDEWHEEL_RUN_TOKEN"], "Content-Type": "application/json"},
    )
    for wait in (0.1, 0.5, 2, None):
        try:
            with urllib.request.urlopen(request, timeout=10) as response:
                return response.status, json.load(response)
        except urllib.error.HTTPError as error:
            answer = json.load(error)
            if error.code == 412:
                raise Fenced(answer["detail"])
            if error.code < 500 or wait is None:
                return error.code, answer
        except OSError:
            if wait is None:
                raise
        time.sleep(wait)


def once(key, look, do):
    """Gives what do() gives, which is called once in the life of the run. look() returns what it gave, or None where it
    was not done; it is asked where an attempt before may have come so far. Both results are JSON."""
    status, answer = ask("POST", key)
    if status == 409 and answer["code"] == "effect_done":
        return answer["result"]
    if status == 201:  # no attempt has begun: do it
        result = do()
    elif status == 200:  # an earlier attempt may have done it: look
        result = look()
        if result is None:
            result = do()
    else:
        raise RuntimeError(answer["detail"])
    pause()
    status, answer = ask("PUT", key, result)
    if status != 200:
        raise RuntimeError(answer["detail"])
    return result


# --- what it is for.

run, account = os.environ["TIDEWHEEL_RUN_ID"], os.environ["ACCOUNT"]


def pause():
    time.sleep(float(os.environ.get("PAUSE", "0")))


def charged(key):
    pause()
    with open(account) as lines:
        if any(line.startswith(f"{run}/{key} ") for line in lines):
            return {"charged": 100, "found": True}
    return None


def charge(key):
    pause()
    line = f"{run}/{key} 100 {os.environ['TIDEWHEEL_ATTEMPT']} {os.environ['TIDEWHEEL_FENCING_TOKEN']}\n"
    file = os.open(account, os.O_WRONLY | os.O_APPEND)
    os.write(file, line.encode())  # whole or not at all
    os.close(file)
    return {"charged": 100}


try:
    for customer in os.environ["CUSTOMERS"].split():
        pause()
        key = "charge-" + customer
        once(key, lambda: charged(key), lambda: charge(key))
        print(customer, "is charged", flush=True)
except (Fenced, OSError, RuntimeError) as error:
    print(error, file=sys.stderr)
    sys.exit(RETRY)
