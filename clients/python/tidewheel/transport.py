"""How requests are sent: over HTTP, with Python's own library, so that the client needs no other."""

from __future__ import annotations

import json
import os
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, BinaryIO, Callable, Dict, Iterator, List, Mapping, NamedTuple, Optional, Union

Content = Union[bytes, BinaryIO]
"""What is uploaded: bytes, or a file that is open for reading them."""


class TidewheelError(Exception):
    """What the client raises."""


class Unreachable(TidewheelError):
    """The server did not answer, or broke off."""


class Problem(TidewheelError):
    """The server refused (RFC 9457): code is stable, detail says what to do, errors name fields."""

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        self.status = status
        self.code: str = problem.get("code", "")
        self.detail: str = problem.get("detail", "")
        self.errors: List[Dict[str, Any]] = problem.get("errors") or []
        self.problem = dict(problem)
        super().__init__(f"{self.detail or problem.get('title') or 'refused'} ({status} {self.code})".strip())


class Event(NamedTuple):
    """A server-sent event."""

    event: str
    data: str
    id: str


class Stream:
    """An answer that is read as it comes. Close it, or use it in a with statement."""

    def __init__(self, response: Any) -> None:
        self._response = response
        self.headers: Mapping[str, str] = response.headers

    def __enter__(self) -> Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._response.close()

    def read(self, size: int = -1) -> bytes:
        try:
            return self._response.read() if size < 0 else self._response.read(size)
        except OSError as error:
            raise Unreachable(str(error)) from error

    def lines(self) -> Iterator[str]:
        """The lines of a text, such as output, as they come."""
        try:
            for line in self._response:
                yield line.decode("utf-8", "replace").rstrip("\r\n")
        except OSError as error:
            raise Unreachable(str(error)) from error

    def events(self) -> Iterator[Event]:
        """The events of watch_events, or of get_logs with follow."""
        event, data, last = "message", [], ""  # type: str, List[str], str
        for line in self.lines():
            field, _, value = line.partition(":")
            value = value[1:] if value.startswith(" ") else value
            if not line:
                if data:
                    yield Event(event, "\n".join(data), last)
                event, data = "message", []
            elif field == "event":
                event = value
            elif field == "data":
                data.append(value)
            elif field == "id":
                last = value


class Transport:
    """Sends requests to one server. url and token are those of TIDEWHEEL_URL and TIDEWHEEL_TOKEN if they are not given."""

    def __init__(
        self,
        url: Optional[str] = None,
        token: Optional[str] = None,
        *,
        namespace: Optional[str] = None,
        timeout: float = 60,
    ) -> None:
        self.url = (url or os.environ.get("TIDEWHEEL_URL") or "http://127.0.0.1:8080").rstrip("/")
        self.token = token or os.environ.get("TIDEWHEEL_TOKEN") or ""
        self.namespace = namespace or os.environ.get("TIDEWHEEL_NAMESPACE")
        self.timeout = timeout  # seconds without a byte from the server

    @staticmethod
    def segment(value: object) -> str:
        return urllib.parse.quote(str(value), safe="")

    def pages(self, operation: Callable[..., Any], *args: Any, **filters: Any) -> Iterator[Any]:
        """All entries of a list, page by page: pages(client.list_runs, job="report")."""
        while True:
            page = operation(*args, **filters)
            yield from page["items"]
            if not page["next"]:
                return
            filters["cursor"] = page["next"]

    def ask(self, method: str, path: str, **request: Any) -> Any:
        with self.open(method, path, **request) as stream:
            text = stream.read()
        return json.loads(text)

    def tell(self, method: str, path: str, **request: Any) -> None:
        self.open(method, path, **request).close()

    def open(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Mapping[str, Any]] = None,
        headers: Optional[Mapping[str, Optional[str]]] = None,
        body: Any = None,
        content_type: str = "",
        text_type: str = "",
    ) -> Stream:
        asked = {key: value for key, value in (query or {}).items() if value is not None}
        if query is not None and "namespace" in query and self.namespace:
            asked.setdefault("namespace", self.namespace)
        for key, value in asked.items():
            if isinstance(value, bool):
                asked[key] = "true" if value else "false"
        address = self.url + path + ("?" + urllib.parse.urlencode(asked, doseq=True) if asked else "")
        sent = {key: value for key, value in (headers or {}).items() if value is not None}
        if self.token:
            sent["Authorization"] = "Bearer " + self.token
        if body is not None:
            if text_type and isinstance(body, str):
                content_type, body = text_type, body.encode()
            elif content_type == "application/json":
                body = json.dumps(body).encode()
            sent["Content-Type"] = content_type
        request = urllib.request.Request(address, data=body, headers=sent, method=method)
        try:
            return Stream(urllib.request.urlopen(request, timeout=self.timeout))
        except urllib.error.HTTPError as error:
            with error:
                raise Problem(error.code, problem_of(error)) from None
        except OSError as error:
            raise Unreachable(f"{self.url}: {getattr(error, 'reason', error)}") from error


def problem_of(answer: Any) -> Dict[str, Any]:
    text = answer.read()
    try:
        problem = json.loads(text)
    except ValueError:
        problem = None
    if isinstance(problem, dict):
        return problem
    return {"title": text.decode("utf-8", "replace")[:200]}  # of something between here and the server
