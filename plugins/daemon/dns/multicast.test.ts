// `.local` names, which are asked on the link: a host that the test plays, and a neighbour on its wire that answers mDNS.

import dgram from "node:dgram";
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { decode, encode } from "dns-packet";
import t from "tap";
import { openKernel } from "../../../cni/net/kernel.ts";
import { noNetworkReason, playHost, testNetns } from "../../../test/harness/network.ts";
import { uninterrupted } from "../../kit/base/call.ts";
import { systemClock } from "../../kit/base/clock.ts";
import { noLog } from "../../kit/base/log.ts";
import { parseAddress, parsePrefix } from "../../kit/os/net/address.ts";
import { inNetns } from "../../kit/os/net/netns.ts";
import { selfCommand } from "../../kit/os/platform/runtime.ts";
import { Forwarder } from "./forward.ts";
import { ServiceRecords } from "./records.ts";
import { serveDns } from "./server.ts";
import { Zone } from "./zone.ts";

t.setTimeout(300_000);

t.test("names below .local are asked on the link when that is wanted", { skip: noNetworkReason() }, async (t) => {
  await playHost();
  const kernel = openKernel();
  t.teardown(() => kernel.close());
  const neighbour = testNetns(t);
  const wire = kernel.enter(neighbour);
  await kernel.host.createVeth({ name: "eth0", peer: { name: "eth0", space: wire } });
  for (const [space, address] of [
    [kernel.host, "192.0.2.1/24"],
    [wire, "192.0.2.2/24"],
  ] as const) {
    const link = await space.getLink("eth0");
    await space.setLink(link.index, { up: true });
    await space.addAddress(link.index, parsePrefix(address));
  }
  const { index: link } = await kernel.host.getLink("eth0");
  await kernel.host.addRoute({ family: 4, link, gateway: parseAddress("192.0.2.2") });
  wire.close();

  const script = fileURLToPath(new URL("../../../test/fixtures/mdns-responder.ts", import.meta.url));
  const [command, ...args] = selfCommand(script, ["192.0.2.2", "printer.local", "192.0.2.77"]);
  const responder = inNetns(neighbour, () => spawn(command, args, { stdio: ["ignore", "pipe", "inherit"] }));
  const ended = new Promise((resolve) => responder.once("close", resolve));
  t.teardown(async () => {
    responder.kill("SIGKILL");
    await ended;
  });
  await new Promise((resolve) => responder.stdout.once("data", resolve));

  const serveWith = async (isMulticastEnabled: boolean, timeoutMs: number) => {
    const server = await serveDns(
      {
        zone: new Zone("cluster.local", new ServiceRecords()),
        forwarder: new Forwarder({ clock: systemClock, upstreams: () => [], timeoutMs }),
        log: noLog,
        isMulticastEnabled,
      },
      { address: "127.0.0.1", port: 0 },
      uninterrupted,
    );
    t.teardown(() => server.close());
    return (name: string) =>
      new Promise<unknown>((resolve) => {
        const socket = dgram.createSocket("udp4");
        socket.once("message", (answer) => {
          socket.close();
          const { id, rcode, answers = [] } = decode(answer) as ReturnType<typeof decode> & { rcode: string };
          resolve([id, rcode, answers.map((record) => (record as { data?: unknown }).data)]);
        });
        const questions = [{ name, type: "A" as const }];
        socket.send(encode({ type: "query", id: 7, flags: 256, questions }), server.port, "127.0.0.1");
      });
  };
  const patient = await serveWith(true, 60_000);
  t.same(await patient("printer.local"), [7, "NOERROR", ["192.0.2.77"]]);
  t.same(await patient("web.shop.svc.cluster.local"), [7, "NXDOMAIN", []], "the cluster's own domain is not asked for");
  const hasty = await serveWith(true, 200);
  t.same(await hasty("nobody.local"), [7, "SERVFAIL", []], "a name that nobody on the link has");
  const plain = await serveWith(false, 60_000);
  t.same(await plain("printer.local"), [7, "SERVFAIL", []], "by default only the node's name servers are asked");
});
