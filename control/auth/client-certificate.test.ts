import t from "tap";
import { uninterrupted } from "../../plugins/kit/base/call.ts";
import { FakeClock } from "../../plugins/kit/base/clock.ts";
import { clientCertificateAuthenticator } from "./client-certificate.ts";

t.test("a client certificate is believed until its end, however long the connection lasts", async (t) => {
  const clock = new FakeClock();
  const { authenticate } = clientCertificateAuthenticator(clock);
  const certificate = {
    commonName: "ann",
    organizations: ["ops"],
    fingerprint256: "AB:CD",
    endsAt: clock.now() + 60_000,
  };
  const ask = (headers: Record<string, string> = {}) =>
    authenticate({ headers: new Headers(headers), peer: { address: "", certificate } }, uninterrupted);
  t.match(await ask(), { name: "ann", groups: ["ops", "system:authenticated"] });
  await clock.advance(59_999);
  t.match(await ask(), { name: "ann" });
  await clock.advance(1);
  await t.rejects(ask(), { code: "unauthorized" }, "not anonymous, but refused");
  t.equal(await ask({ authorization: "Bearer x" }), undefined, "a token may still say who it is");
});
