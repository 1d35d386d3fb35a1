import { connect } from "tidewheel";

const client = connect(); // of TIDEWHEEL_URL, with TIDEWHEEL_TOKEN
await client.upload("hello", "#!/bin/sh\necho Hello from TypeScript\n");
await client.POST("/api/v1/jobs", { body: { name: "hello-typescript", binary: "hello" } });
const { data: made } = await client.POST("/api/v1/jobs/{name}/run", { params: { path: { name: "hello-typescript" } }, body: {} });
const run = await client.wait(made!.id);
const { data: output } = await client.GET("/api/v1/runs/{id}/logs", { params: { path: { id: run.id } }, parseAs: "text" });
console.log(run.status, output);
