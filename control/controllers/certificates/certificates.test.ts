// Signing requests that people approve or deny, and their end. How nodes get theirs is shown by test/integration/join.test.ts.

import t from "tap";
import { ApiClient } from "../../../plugins/kit/kube/client/api-client.ts";
import { FakeClock } from "../../../plugins/kit/base/clock.ts";
import { resources } from "../../../plugins/kit/kube/objects/resources.ts";
import { createKeyPair, createSigningRequest, parseCertificate } from "../../../plugins/kit/os/x509.ts";
import type { Json } from "../../../test/harness/api-server.ts";
import { controllerRoom } from "../../../test/harness/controllers.ts";
import { until } from "../../../test/harness/until.ts";

const ref = resources.certificatesigningrequests;

t.test(
  "certificateController() signs what was approved, leaves what was denied, and takes both away in time",
  async (t) => {
    const clock = new FakeClock(Date.now());
    const room = await controllerRoom(t, ["certificate-controller"], { clock });
    const ask = (name: string, signerName = "kubernetes.io/kube-apiserver-client") => {
      const request = createSigningRequest({ key: createKeyPair().key, commonName: "jane", organizations: ["devs"] });
      return room.create(ref, {
        metadata: { name },
        spec: { request: Buffer.from(request).toString("base64"), signerName, usages: ["client auth"] },
      });
    };
    const answer = async (name: string, type: "Approved" | "Denied") => {
      const csr = room.get(ref, name);
      const conditions = [{ type, status: "True", reason: "ByHand", message: "" }];
      await room.client.update(ref, { ...csr, status: { ...csr.status, conditions } }, room.call, {
        subresource: "approval",
      });
    };
    for (const name of ["good", "bad", "open"]) await ask(name);
    await ask("foreign", "example.com/signer");
    await answer("good", "Approved");
    await answer("bad", "Denied");
    await answer("foreign", "Approved");
    const signed = await room.until(ref, "good", ({ status }) => status?.certificate);
    const certificate = Buffer.from(signed.status.certificate, "base64").toString();
    t.match(parseCertificate(certificate), { commonName: "jane", organizations: ["devs"] });
    const status = (name: string): Json => room.get(ref, name)?.status ?? {};
    t.notOk(status("bad").certificate);
    t.notOk(status("foreign").certificate, "another's signer is another's work");
    t.notOk(status("open").conditions, "nobody but a node is approved by itself");

    await until("what was answered to go after an hour", async () => {
      await clock.advance(10 * 60_000);
      return !room.get(ref, "good") && !room.get(ref, "bad");
    });
    t.ok(room.get(ref, "open"));
    await until("what nobody answered to go after a day", async () => {
      await clock.advance(3_600_000);
      return !room.get(ref, "open");
    });
  },
);

t.test("certificateController() keeps the name of a node whose clock is wrong, until the node is silent", async (t) => {
  const clock = new FakeClock(Date.now());
  const room = await controllerRoom(t, ["certificate-controller"], { clock });
  const user = {
    name: "system:bootstrap:abcdef",
    groups: ["system:bootstrappers:skiff:default-node-token", "system:authenticated"],
  };
  const joining = new ApiClient({ fetch: room.api.server.fetchAs(user), clock });
  const ask = async () => {
    const request = createSigningRequest({
      key: createKeyPair().key,
      commonName: "system:node:pi",
      organizations: ["system:nodes"],
    });
    const made = await joining.create<Json>(
      ref,
      {
        apiVersion: "certificates.k8s.io/v1",
        kind: "CertificateSigningRequest",
        metadata: { generateName: "join-" },
        spec: {
          request: Buffer.from(request).toString("base64"),
          signerName: "kubernetes.io/kube-apiserver-client-kubelet",
          usages: ["client auth"],
        },
      },
      room.call,
    );
    const { status } = await room.until(ref, made.metadata.name, (csr) => csr.status?.conditions?.[0]);
    return status.conditions[0].reason;
  };
  await room.create(resources.nodes, { metadata: { name: "pi" } });
  await clock.advance(3_600_000);
  const renewedAt = (ms: number) => ({ spec: { renewTime: new Date(ms).toISOString().replace("Z", "000Z") } });
  const behind = clock.now() - 7_200_000;
  await room.create(resources.leases, { metadata: { name: "pi", namespace: "kube-node-lease" }, ...renewedAt(behind) });
  await clock.advance(30_000);
  t.equal(await ask(), "NodeNameTaken");
  await clock.advance(20_000);
  t.equal(await ask(), "TokenUsed", "there is no such token");
});
