// Signing requests that people approve or deny, and their end. How nodes get theirs is shown by test/integration/join.test.ts.

import t from "tap";
import { FakeClock } from "../../../plugins/kit/clock.ts";
import { resources } from "../../../plugins/kit/objects/resources.ts";
import { createKeyPair, createSigningRequest, parseCertificate } from "../../../plugins/kit/x509.ts";
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
