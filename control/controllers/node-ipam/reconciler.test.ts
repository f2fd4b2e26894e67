import t from "tap";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import { controllerRoom, readyNode } from "../../../test/harness/controllers.ts";

const cidrs = (node: { spec: { podCIDR?: string; podCIDRs?: string[] } }) => node.spec.podCIDRs ?? [];

t.test(
  "nodeIpamController() gives each node a block of its own, and a block that is free again to the next",
  async (t) => {
    const held = readyNode("held", { spec: { podCIDR: "10.42.0.0/24", podCIDRs: ["10.42.0.0/24"] } });
    const room = await controllerRoom(t, ["node-controller"], { nodes: [], kubelet: false });
    await room.create(resources.nodes, held);
    const names = ["a", "b", "c"];
    for (const name of names) await room.create(resources.nodes, readyNode(name));
    const nodes = await Promise.all(
      names.map((name) => room.until(resources.nodes, name, (node) => cidrs(node).length === 1)),
    );
    const given = nodes.flatMap(cidrs);
    t.equal(new Set([...given, "10.42.0.0/24"]).size, 4, `none twice, nor what a node had before: ${given.join(", ")}`);
    for (const node of nodes) t.equal(node.spec.podCIDR, cidrs(node)[0]);
    const [block = ""] = given;
    await room.delete(resources.nodes, "a");
    for (let index = 0; index < 252; index++) await room.create(resources.nodes, readyNode(`n${index}`));
    await room.until(resources.nodes, "n251", (node) => cidrs(node).length === 1);
    await Promise.all(
      Array.from({ length: 252 }, (_, index) =>
        room.until(resources.nodes, `n${index}`, (node) => cidrs(node).length === 1),
      ),
    );
    const all = room.list(resources.nodes).flatMap(cidrs);
    t.equal(new Set(all).size, all.length, "still none twice");
    await room.create(resources.nodes, readyNode("last-1"));
    await room.until(resources.nodes, "last-1", (node) => cidrs(node).length === 1);
    t.ok(room.list(resources.nodes).flatMap(cidrs).includes(block), "what the first node had is in use again");
    await room.create(resources.nodes, readyNode("too-many"));
    const event = await room.untilEvent("CIDRNotAvailable");
    t.match(event, { message: "Node too-many status is now: CIDRNotAvailable", involvedObject: { name: "too-many" } });
    t.strictSame(cidrs(room.get(resources.nodes, "too-many")), []);
    await room.delete(resources.nodes, "b");
    t.ok(await room.until(resources.nodes, "too-many", (node) => cidrs(node).length === 1), "until there is room");
  },
);
