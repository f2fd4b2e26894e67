// A daemon whose `/info` hangs, as Docker's does while an image pull waits for a name server that does not answer.

import { createServer, type ServerResponse } from "node:http";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { StatusRequest } from "../api/gen/runtime.js";
import { uninterrupted as call, within } from "../../plugins/kit/base/call.ts";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { Engine } from "./engine/engine.ts";
import { dockerRuntime } from "./docker-runtime.ts";
import { EngineInfoCache } from "./engine/engine-info.ts";

const info = { DockerRootDir: "/var/lib/docker", CgroupDriver: "cgroupfs", Driver: "overlay2", SecurityOptions: [] };

async function fakeEngine(t: { teardown(then: () => void): void }) {
  const dir = mkdtempSync(join(tmpdir(), "skiff-fake-docker-"));
  const socket = join(dir, "docker.sock");
  const state = { isBusy: false, asked: 0, held: [] as ServerResponse[] };
  const server = createServer((request, response) => {
    const path = (request.url ?? "").replace(/^\/v[\d.]+/, "").replace(/\?.*/, "");
    const answer = (body: unknown) => response.setHeader("api-version", "1.41").end(JSON.stringify(body));
    if (path === "/info") {
      state.asked++;
      if (state.isBusy) state.held.push(response);
      else answer(info);
    } else if (path === "/version") answer({ Version: "20.10.24" });
    else if (path === "/_ping") answer("OK");
    else if (path === "/system/df") answer({ LayersSize: 7 });
    else if (path === "/events") response.flushHeaders();
    else if (path === "/containers/json") answer([]);
    else answer({ Id: "sha256:1" });
  });
  await new Promise<void>((resolve) => server.listen(socket, resolve));
  t.teardown(() => {
    server.closeAllConnections();
    server.close();
    rmSync(dir, { recursive: true, force: true });
  });
  return { dir, socket, state };
}

t.test("the runtime stays ready while the daemon's /info hangs", async (t) => {
  const { dir, socket, state } = await fakeEngine(t);
  const network = { status: async () => {} } as never;
  const { runtime, image, close } = await dockerRuntime({ socket, root: join(dir, "root"), network });
  t.teardown(() => close());
  state.isBusy = true;
  const soon = within(20_000);
  t.match(await runtime.version({ version: "" }, soon), { runtimeName: "docker", runtimeVersion: "20.10.24" });
  const { status } = await runtime.status(StatusRequest.create({}), soon);
  t.match(status?.conditions, [
    { type: "RuntimeReady", status: true },
    { type: "NetworkReady", status: true },
  ]);
  t.ok((await runtime.status(StatusRequest.create({ verbose: true }), soon)).info.config?.includes("overlay2"));
  await runtime.runtimeConfig({}, soon);
  t.match(await image.imageFsInfo({}, soon), {
    imageFilesystems: [{ fsId: { mountpoint: "/var/lib/docker" }, usedBytes: { value: 7n } }],
  });
});

t.test("EngineInfoCache asks again after a while, one question at a time", async (t) => {
  const { socket, state } = await fakeEngine(t);
  const clock = new FakeClock();
  const engine = new Engine(socket);
  t.teardown(() => engine.close());
  const cache = await EngineInfoCache.open(engine, clock, call);
  t.same([cache.now(), cache.now(), state.asked], [info, info, 1]);
  state.isBusy = true;
  await clock.advance(300_000);
  t.same([cache.now(), cache.now()], [info, info], "an answer that is late changes nothing");
  while (state.held.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  t.equal(state.asked, 2);
  state.held[0]?.setHeader("api-version", "1.41").end(JSON.stringify({ ...info, DockerRootDir: "/data" }));
  while (cache.now().DockerRootDir !== "/data") await new Promise((resolve) => setTimeout(resolve, 5));
  t.equal(state.asked, 2);
});
