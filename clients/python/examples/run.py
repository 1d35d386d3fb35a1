from tidewheel import Client

client = Client()  # of TIDEWHEEL_URL, with TIDEWHEEL_TOKEN
client.upload_binary("hello", b"#!/bin/sh\necho Hello from Python\n")
client.create_job({"name": "hello-python", "binary": "hello"})
run = client.wait(client.run_job("hello-python", {})["id"])
print(run["status"], client.get_logs(run["id"]).read().decode(), end="")
