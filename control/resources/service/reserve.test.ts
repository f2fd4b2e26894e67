// Addresses and node ports of services are given out once, also after a restart and by many requests at once.

import t from "tap";
import { type Json, startApi, type TestApi } from "../../../test/harness/api-server.ts";
import { memoryStore } from "../../../plugins/store/memory.ts";

const services = "/api/v1/namespaces/default/services";

async function make(api: TestApi, name: string, spec: Json = {}): Promise<Json> {
  const body = { metadata: { name }, spec: { type: "NodePort", ports: [{ port: 80 }], ...spec } };
  return (await api.ask("POST", services, body)).body;
}
const given = ({ spec }: Json) => [spec.clusterIP as string, spec.ports[0].nodePort as number] as const;

t.test("what a service holds is nobody else's after a restart", async (t) => {
  const store = memoryStore();
  const serviceCidr = "10.43.0.0/28";
  const before = await startApi({ store, serviceCidr });
  const held = await Promise.all(["a", "b", "c", "d", "e"].map(async (name) => given(await make(before, name))));
  t.equal(new Set(held.map(([ip]) => ip)).size, 5, "each its own address");
  t.equal(new Set(held.map(([, port]) => port)).size, 5, "and its own port");
  await before.close();

  const after = await startApi({ store, serviceCidr });
  t.teardown(async () => {
    await after.close();
    await store.close();
  });
  const [[ip, nodePort] = ["", 0]] = held;
  t.match(await make(after, "thief", { clusterIP: ip }), { code: 422, message: /provided IP is already allocated/ });
  t.match(await make(after, "squatter", { ports: [{ port: 80, nodePort }] }), {
    code: 422,
    message: /provided port is already allocated/,
  });
  const made: (readonly [string, number])[] = [];
  let full: Json;
  for (let index = 0; index < 20 && !full; index++) {
    const answer = await make(after, `more-${index}`);
    if (answer.kind === "Service") made.push(given(answer));
    else full = answer;
  }
  t.equal(new Set([...held, ...made].map(([address]) => address)).size, held.length + made.length, "no address twice");
  t.equal(new Set([...held, ...made].map(([, port]) => port)).size, held.length + made.length, "no port twice");
  t.match(full?.message, /range is full/, "a range that is used up is told");
  await after.ask("DELETE", `${services}/a`);
  t.equal(given(await make(after, "heir"))[0], ip, "what was let go is given out again");
});
