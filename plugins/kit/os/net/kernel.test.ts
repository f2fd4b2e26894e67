import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import t from "tap";
import { noNetworkReason, playHost, randomName, testNetns } from "../../../../test/harness/network.ts";
import { uninterrupted } from "../../base/call.ts";
import { addBridgeVlan, deleteBridgeVlan, listBridgeVlans } from "../../../../cni/net/bridge-vlans.ts";
import { formatPrefix, parseAddress, parsePrefix } from "./address.ts";
import {
  createBridge,
  createVeth,
  createVxlan,
  deleteLink,
  findLink,
  getLink,
  listLinks,
  openRoutes,
  setBridgePort,
  setLink,
} from "./links.ts";
import { closeNetns, createNetns, deleteNetns, inNetns, isNetns, openNetns } from "./netns.ts";
import { openNft } from "./nft.ts";
import {
  addAddress,
  addRoute,
  deleteAddress,
  deleteNeighbour,
  deleteRoute,
  listAddresses,
  listNeighbours,
  listRoutes,
  setNeighbour,
} from "./routes.ts";
import { readNetSetting, writeNetSetting } from "./sysctl.ts";

t.test("on a kernel", { skip: noNetworkReason() }, async (t) => {
  await playHost();
  const host = openRoutes();
  t.teardown(() => host.close());

  await t.test("an nftables change is not disturbed by signals", async (t) => {
    const nft = openNft();
    t.teardown(() => nft.close());
    const ignore = () => {};
    process.on("SIGUSR2", ignore);
    t.teardown(() => void process.off("SIGUSR2", ignore));
    const flood = spawn("sh", ["-c", `while kill -USR2 ${process.pid}; do :; done`], { stdio: "ignore" });
    const ended = new Promise((resolve) => flood.once("exit", resolve));
    const table = `inet ${randomName("t")}`;
    try {
      await nft.run(`add table ${table}\nadd set ${table} s { type ipv4_addr; }`, uninterrupted);
      for (let round = 0; round < 200; round++) {
        await nft.run(`add element ${table} s { 10.0.0.1 }`, uninterrupted);
        await nft.list(`list set ${table} s`, uninterrupted);
        await nft.run(`delete element ${table} s { 10.0.0.1 }`, uninterrupted);
      }
      await nft.run(`delete table ${table}`, uninterrupted);
    } finally {
      flood.kill("SIGKILL");
      await ended;
    }
    t.pass("600 changes and lists under a flood of signals");
  });

  await t.test("a list that changes while it is read is read again", async (t) => {
    const lo = await getLink(host, "lo");
    const prefixes = Array.from({ length: 1500 }, (_, at) => parsePrefix(`127.9.${at >> 8}.${at & 255}/32`));
    for (const prefix of prefixes) await addAddress(host, lo.index, prefix);
    // Links come and go on other threads meanwhile, each with an address.
    let isOver = false;
    const churn = async () => {
      const socket = openRoutes();
      for (const name = randomName("ch"); !isOver; ) {
        await createBridge(socket, { name });
        const { index } = await getLink(socket, name);
        await addAddress(socket, index, parsePrefix("192.0.2.9/32"));
        await deleteLink(socket, name);
      }
      socket.close();
    };
    const churning = [churn(), churn()];
    try {
      for (let round = 0; round < 40; round++) {
        const found = (await listAddresses(host)).filter(({ index }) => index === lo.index);
        if (found.length < prefixes.length) t.fail(`only ${found.length} were listed`);
        await new Promise((resolve) => setImmediate(resolve));
      }
    } finally {
      isOver = true;
      await Promise.all(churning);
    }
    t.equal((await listAddresses(host, lo.index)).length, prefixes.length + 2, "of one link only");
    for (const prefix of prefixes) await deleteAddress(host, lo.index, prefix);
  });

  await t.test("createVeth() puts the peer into the other namespace under its final name", async (t) => {
    const pod = testNetns(t);
    const bridgeName = randomName("br");
    await createBridge(host, { name: bridgeName, mac: "02:11:22:33:44:55", mtu: 1400 });
    const bridge = await getLink(host, bridgeName);
    t.match(bridge, { kind: "bridge", mac: "02:11:22:33:44:55", mtu: 1400 });
    const name = randomName("veth");
    const fd = openNetns(pod);
    await createVeth(host, {
      name,
      master: bridge.index,
      mtu: 1400,
      peer: { name: "eth0", netnsFd: fd, mac: "02:aa:bb:cc:dd:ee" },
    });
    closeNetns(fd);
    const near = await getLink(host, name);
    t.equal(near.master, bridge.index);
    await setBridgePort(host, near.index, { hairpin: true });
    const inside = inNetns(pod, () => openRoutes());
    t.match(await getLink(inside, "eth0"), { kind: "veth", mac: "02:aa:bb:cc:dd:ee", mtu: 1400 });
    t.equal(await findLink(host, "eth0"), undefined);
    await deleteLink(inside, "eth0");
    t.equal(await findLink(host, name), undefined);
    await deleteLink(inside, "eth0");
    inside.close();
    await deleteLink(host, bridgeName);
  });

  await t.test("VLANs of a bridge are added, listed and removed, or the kernel has none and says so", async (t) => {
    const name = randomName("br");
    t.teardown(() => deleteLink(host, name));
    try {
      await createBridge(host, { name, vlanFiltering: true });
    } catch (error) {
      t.match(error, { code: "unsupported" });
      await createBridge(host, { name });
      const plain = await getLink(host, name);
      await t.rejects(addBridgeVlan(host, plain.index, { id: 7, access: false, self: true }), { code: "unsupported" });
      t.same(await listBridgeVlans(host, plain.index), []);
      return;
    }
    const { index } = await getLink(host, name);
    await addBridgeVlan(host, index, { id: 7, access: false, self: true });
    const port = randomName("v");
    const far = openNetns(testNetns(t));
    t.teardown(() => closeNetns(far));
    await createVeth(host, { name: port, master: index, peer: { name: "eth0", netnsFd: far } });
    const { index: near } = await getLink(host, port);
    t.same(await listBridgeVlans(host, near), [{ id: 1, access: true }], "what every port begins with");
    await deleteBridgeVlan(host, near, 1);
    await addBridgeVlan(host, near, { id: 100, last: 103, access: false });
    await addBridgeVlan(host, near, { id: 9, access: true });
    t.same(
      (await listBridgeVlans(host, near)).map(({ id, access }) => [id, access]),
      [[9, true], ...[100, 101, 102, 103].map((id) => [id, false])],
    );
    t.same(
      (await listBridgeVlans(host, index)).map(({ id }) => id),
      [1, 7],
    );
    await deleteLink(host, port);
  });

  await t.test("addresses and routes of both families are added, listed and removed", async (t) => {
    const name = randomName("d");
    await createBridge(host, { name });
    const { index } = await getLink(host, name);
    await setLink(host, index, { up: true });
    for (const [address, destination, gateway] of [
      ["10.99.0.1/24", "10.100.0.0/16", "10.99.0.2"],
      ["fd99::1/64", "fd98::/64", "fd99::2"],
    ] as const) {
      await addAddress(host, index, parsePrefix(address), { skipDad: true });
      await addAddress(host, index, parsePrefix(address), { skipDad: true });
      t.ok(
        (await listAddresses(host, index)).some(
          (found) => formatPrefix(found.prefix) === address && !found.isTentative,
        ),
      );
      const route = {
        family: parsePrefix(address).address.family,
        destination: parsePrefix(destination),
        gateway: parseAddress(gateway),
        link: index,
        mtu: 1300,
      };
      await addRoute(host, route);
      await t.rejects(addRoute(host, route), { code: "already-exists" });
      await addRoute(host, route, { replace: true });
      const routes = await listRoutes(host, route.family);
      t.match(
        routes.filter((found) => found.destination && formatPrefix(found.destination) === destination),
        [{ gateway: route.gateway, mtu: 1300 }],
      );
      await deleteRoute(host, route);
      await deleteRoute(host, route);
      await deleteAddress(host, index, parsePrefix(address));
      await deleteAddress(host, index, parsePrefix(address));
      t.notOk((await listAddresses(host, index)).some((found) => formatPrefix(found.prefix) === address));
    }
    await deleteLink(host, name);
  });

  await t.test("createVxlan() takes forwarding entries and neighbours", async (t) => {
    const name = randomName("vx");
    await createVxlan(host, {
      name,
      id: 4711,
      port: 8472,
      local: parseAddress("127.0.0.1"),
      mac: "02:00:00:00:00:01",
      mtu: 1450,
    });
    const link = await getLink(host, name);
    t.match(link, { kind: "vxlan", vxlan: { id: 4711, port: 8472 } });
    await setLink(host, link.index, { up: true });
    const forwarding = {
      link: link.index,
      address: parseAddress("192.0.2.9"),
      mac: "02:00:00:00:00:02",
      isForwarding: true,
    };
    await setNeighbour(host, forwarding);
    const neighbour = { ...forwarding, address: parseAddress("10.42.1.0"), isForwarding: false };
    await setNeighbour(host, neighbour);
    t.match(
      (await listNeighbours(host, "forwarding")).filter((found) => found.link === link.index),
      [{ mac: "02:00:00:00:00:02", address: forwarding.address }],
    );
    t.match(
      (await listNeighbours(host, 4)).filter((found) => found.link === link.index),
      [{ isPermanent: true }],
    );
    await deleteNeighbour(host, forwarding);
    await deleteNeighbour(host, neighbour);
    t.equal((await listNeighbours(host, "forwarding")).filter((found) => found.link === link.index).length, 0);
    await deleteLink(host, name);
    t.notOk((await listLinks(host)).some((found) => found.name === name));
  });

  await t.test("a namespace is made once, known, and gone", async (t) => {
    const path = `/run/netns/${randomName("skiff-test-")}`;
    createNetns(path);
    t.throws(() => createNetns(path), { code: "already-exists" });
    t.ok(isNetns(path));
    const before = readNetSetting("ipv4/ip_forward");
    const other = before === "1" ? "0" : "1";
    inNetns(path, () => {
      writeNetSetting("ipv4/ip_forward", other);
      t.equal(readNetSetting("ipv4/ip_forward"), other);
    });
    t.equal(readNetSetting("ipv4/ip_forward"), before);
    deleteNetns(path);
    deleteNetns(path);
    t.notOk(isNetns(path));
    t.throws(() => openNetns(path), { code: "not-found" });
  });

  for (const engine of ["auto", "program"] as const) {
    await t.test(`nft (${engine}) applies whole scripts or nothing and names the cause`, async (t) => {
      const nft = openNft(engine);
      t.teardown(() => nft.close());
      const table = randomName("t");
      await nft.run(
        `add table inet ${table}; add set inet ${table} s { type ipv4_addr; }; add element inet ${table} s { 10.0.0.1 }`,
        uninterrupted,
      );
      await t.rejects(
        nft.run(`add element inet ${table} s { 10.0.0.2 }\nadd rule inet ${table} nochain accept`, uninterrupted),
        { code: "not-found" },
      );
      await t.rejects(nft.run(`create table inet ${table}`, uninterrupted), { code: "already-exists" });
      await t.rejects(nft.run("nonsense", uninterrupted), { code: "invalid" });
      const set = (await nft.list(`list set inet ${table} s`, uninterrupted)).find((entry) => "set" in entry);
      t.match(set, { set: { elem: ["10.0.0.1"] } });
      await nft.run(`delete table inet ${table}`, uninterrupted);
      t.same(await nft.list("list ruleset", uninterrupted), []);
    });
  }

  await t.test("nft works on when more than 1,024 descriptors are open", async (t) => {
    const held: number[] = [];
    t.teardown(() => held.forEach((fd) => closeSync(fd)));
    const table = randomName("t");
    const before = openNft();
    for (let count = 0; count < 1100; count++) held.push(openSync("/dev/null", "r"));
    const after = openNft();
    for (const nft of [before, after]) {
      await nft.run(`add table inet ${table}; add chain inet ${table} c`, uninterrupted);
      t.ok((await nft.list(`list table inet ${table}`, uninterrupted)).some((entry) => "chain" in entry));
      await nft.run(`delete table inet ${table}`, uninterrupted);
      nft.close();
    }
  });

  await t.test("hundreds of slow calls at once wait for their turn", async (t) => {
    const names = Array.from({ length: 150 }, () => randomName("v"));
    await Promise.all(
      names.map(async (name) => {
        const routes = openRoutes();
        await createBridge(routes, { name });
        await deleteLink(routes, name);
        routes.close();
      }),
    );
    t.notOk((await listLinks(host)).some(({ name }) => names.includes(name)));
  });
});
