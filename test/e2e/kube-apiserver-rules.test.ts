// CEL rules of custom resources on our API server and on the real kube-apiserver: both take a rule or refuse it, in the same words, also
// for what it may cost. Needs kube-apiserver and etcd on PATH.

import t from "tap";
import { rules, ruleSchema } from "../fixtures/rules.ts";
import { noKubeApiserver } from "../harness/kube-apiserver.ts";
import { startPeerApis } from "../harness/peer-apis.ts";
import { differences, essence } from "../harness/same-answer.ts";

const definition = (validations: object[]) => ({
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "boats.example.com" },
  spec: {
    group: "example.com",
    scope: "Namespaced",
    names: { plural: "boats", kind: "Boat" },
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: {
              spec: { ...ruleSchema, "x-kubernetes-validations": validations },
              fleet: { type: "array", items: { ...ruleSchema, "x-kubernetes-validations": validations } },
            },
          },
        },
      },
    ],
  },
});

t.test(
  "rules fare alike on our API server and on kube-apiserver",
  { skip: noKubeApiserver, timeout: 600_000 },
  async (t) => {
    const apis = await startPeerApis(t);
    const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";
    for (const rule of rules) {
      const [ours, theirs] = await apis.both("POST", path, definition([{ rule, message: "m" }]));
      // The definition itself is compared elsewhere, and the names of its types are made anew for every question.
      const refusals = [ours, theirs].map((answer) => {
        const { body: _body, ...refusal } = essence(answer);
        return JSON.parse(JSON.stringify(refusal).replaceAll(/selfType\d*/g, "selfType"));
      });
      t.same(differences(refusals[0], refusals[1]), [], rule);
    }
  },
);
