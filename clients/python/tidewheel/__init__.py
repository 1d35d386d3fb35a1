"""A client of Tidewheel's API: a method for each operation, whose arguments and answers have types.

    client = Client("http://127.0.0.1:8080", token)
    run = client.run_job("report", {}, idempotency_key="order-4711")
"""

import time

from . import types
from .operations import Operations
from .transport import Event, Problem, Stream, TidewheelError, Unreachable

__all__ = ["Client", "Event", "Problem", "Stream", "TidewheelError", "Unreachable", "types"]

ENDED = frozenset(("succeeded", "failed", "timed_out", "cancelled", "lost", "dead", "skipped"))
"""The statuses of a run that has ended. One that is tried again is retrying meanwhile."""


class Client(Operations):
    """Speaks to one server; see Transport for its arguments. It keeps no connection and may be used by many threads."""

    def wait(self, run_id: str, *, timeout: float = 3600, every: float = 0.2) -> types.Run:
        """The run, once it has ended; TimeoutError if it has not after so many seconds."""
        until = time.monotonic() + timeout
        while True:
            run = self.get_run(run_id)
            if run["status"] in ENDED:
                return run
            if time.monotonic() > until:
                raise TimeoutError(f"{run_id} is {run['status']} after {timeout} seconds")
            time.sleep(every)
