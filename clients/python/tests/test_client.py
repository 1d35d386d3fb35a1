"""The client against a real server, which the tests start. Run: python3 -m unittest discover -s clients/python/tests"""

import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import unittest

FOLDER = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
ROOT = os.path.dirname(os.path.dirname(FOLDER))
sys.path.insert(0, FOLDER)

from tidewheel import Client, Problem, Unreachable  # noqa: E402

PROGRAM = os.environ.get("TIDEWHEEL_PROGRAM") or os.path.join(ROOT, "bin", "tidewheel")

REPORT = b"""#!/bin/sh
cat
echo 'rows=7' >"$TIDEWHEEL_OUTPUT"
echo data >"$TIDEWHEEL_ARTIFACTS/a b.txt"
"""


class Server:
    """A real server: an own data folder, a free port, ended by its own process."""

    def __init__(self):
        if not os.path.exists(PROGRAM):
            raise RuntimeError(PROGRAM + " is missing: run make build")
        self.folder = tempfile.mkdtemp(prefix="tidewheel-client-")
        os.chmod(self.folder, 0o755)  # programs may run as nobody, and live below
        data = os.path.join(self.folder, "data")
        self.log = open(os.path.join(self.folder, "log"), "wb")
        self.process = subprocess.Popen(
            [PROGRAM, "server", "--data", data, "--http", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=self.log, text=True
        )
        late = threading.Timer(60, self.process.kill)
        late.start()
        self.url = ""
        for line in self.process.stdout:
            pages = re.match(r"\s+pages\s+(http:\S+)", line)
            if pages:
                self.url = pages.group(1)
            if "Ctrl-C shuts it down" in line:
                break
        late.cancel()
        if not self.url:
            self.remove()
            raise RuntimeError("the server did not start")
        with open(os.path.join(data, "token")) as file:
            self.token = file.read().strip()

    def remove(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.stdout.read()
        self.process.wait()
        self.process.stdout.close()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)


class ClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = Server()
        cls.addClassCleanup(cls.server.remove)
        cls.client = Client(cls.server.url, cls.server.token)
        cls.client.upload_binary("report", io.BytesIO(REPORT), alias=["stable", "next"])

    def test_example_of_the_documents(self):
        path = os.path.join(FOLDER, "examples", "run.py")
        with open(path) as example, open(os.path.join(ROOT, "docs", "clients.md")) as page:
            self.assertIn("```python\n" + example.read() + "```", page.read())
        environment = dict(os.environ, PYTHONPATH=FOLDER, TIDEWHEEL_URL=self.server.url, TIDEWHEEL_TOKEN=self.server.token)
        said = subprocess.run([sys.executable, path], env=environment, check=True, capture_output=True, text=True)
        self.assertEqual(said.stdout, "succeeded Hello from Python\n")

    def test_jobs_runs_output_and_artifacts(self):
        client = self.client
        self.assertEqual(client.get_binary("report")["aliases"], {"stable": 1, "next": 1})
        job = client.create_job({"name": "report", "binary": "report@stable", "schedule": "0 3 * * *", "timezone": "Asia/Dhaka"})
        self.assertIn("03:00", job["schedule"])
        etag = '"%d"' % job["revision"]
        changed = client.put_job("report", {"name": "report", "binary": "report@next"}, if_match=etag)
        self.assertEqual(changed["generation"], 2)
        with self.assertRaises(Problem) as refused:
            client.put_job("report", {"name": "report", "binary": "report"}, if_match=etag)
        self.assertEqual(refused.exception.status, 412)
        first, second = (client.run_job("report", {"payload": {"shops": [1, 2]}}, idempotency_key="order-4711") for _ in range(2))
        self.assertEqual(first["id"], second["id"])
        run = client.wait(first["id"], timeout=60)
        self.assertEqual((run["status"], run["outputs"]), ("succeeded", {"rows": 7}))
        with client.get_logs(run["id"]) as output:
            self.assertEqual(output.read(), b'{"shops":[1,2]}')
        with client.get_artifact(run["id"], "a b.txt") as artifact:
            self.assertEqual(artifact.read(), b"data\n")

    def test_lists_are_read_page_by_page(self):
        names = {"listed-one", "listed-two", "listed-three"}
        text = "---\n".join("kind: Job\nname: %s\nbinary: report\n" % name for name in sorted(names))
        self.assertEqual([item["change"] for item in self.client.apply(text)["items"]], ["created"] * 3)
        listed = [job["name"] for job in self.client.pages(self.client.list_jobs, q="listed", limit=1)]
        self.assertEqual((len(listed), set(listed)), (3, names))

    def test_what_the_server_refuses_is_raised(self):
        with self.assertRaises(Problem) as refused:
            self.client.get_job("nowhere/else")
        self.assertEqual((refused.exception.status, refused.exception.code), (404, "job_not_found"))
        self.assertIn("nowhere/else", refused.exception.detail)
        with self.assertRaises(Problem) as refused:
            self.client.create_job({"name": "wrong", "binary": "report", "schedule": "61 * * * *"})
        self.assertTrue(any("schedule" in field["location"] for field in refused.exception.errors))
        with self.assertRaises(Problem) as refused:
            Client(self.server.url, "tw_wrong").list_jobs()
        self.assertEqual(refused.exception.status, 401)
        with self.assertRaises(Unreachable):
            Client("http://127.0.0.1:1", "x").list_jobs()

    def test_events_come_while_they_happen(self):
        self.client.apply("kind: Job\nname: watched\nbinary: report\n")
        with self.client.watch_events() as stream:
            self.client.run_job("watched", {})
            for event in stream.events():
                if json.loads(event.data).get("job") == "watched":
                    self.assertEqual(event.event, "changed")
                    return
        self.fail("no event came")

    def test_a_job_is_deleted(self):
        self.client.create_job({"name": "gone", "binary": "report"})
        self.assertIsNone(self.client.delete_job("gone"))
        with self.assertRaises(Problem):
            self.client.get_job("gone")


if __name__ == "__main__":
    unittest.main()
