import t from "tap";
import { startApi } from "../../../test/harness/api-server.ts";

t.test("a signing request may bear the name that a kubelet gives it", async (t) => {
  const api = await startApi();
  t.teardown(() => api.close());
  const path = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
  const spec = { request: btoa("-----BEGIN CERTIFICATE REQUEST-----"), signerName: "a.b/c", usages: ["client auth"] };
  const made = await api.ask("POST", path, { metadata: { name: "node-csr-SX4E_krr-GwLU" }, spec });
  t.equal(made.status, 201, made.text);
  t.equal((await api.ask("POST", path, { metadata: { name: "a%b" }, spec })).status, 422);
});
