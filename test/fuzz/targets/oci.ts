import { parseImageConfig, parseManifest } from "../../../cri/native/images/manifest.ts";
import { formatReference, parseReference } from "../../../cri/native/images/reference.ts";
import { attempt, check, type Target } from "../target.ts";

const digest = `sha256:${"0".repeat(64)}`;
const descriptor = { mediaType: "application/vnd.oci.image.layer.v1.tar+gzip", digest, size: 10 };

export const ociManifest: Target = {
  name: "OCI manifest",
  corpus: [
    JSON.stringify({ schemaVersion: 2, config: descriptor, layers: [descriptor, descriptor] }),
    JSON.stringify({ manifests: [{ ...descriptor, platform: { os: "linux", architecture: "arm64", variant: "v8" } }] }),
    JSON.stringify({ schemaVersion: 1 }),
    '{"layers":[{"digest":"sha256:../../x","size":-1}],"config":{"size":1e300}}',
  ],
  words: [
    '"layers"',
    '"manifests"',
    '"config"',
    '"digest"',
    '"size"',
    '"platform"',
    `"${digest}"`,
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
    "-1",
    "1e300",
  ],
  run: (input) =>
    attempt(
      () => parseManifest(input, "the manifest"),
      (found) => {
        const all = "index" in found ? found.index : [found.manifest.config, ...found.manifest.layers];
        for (const each of all) check(/^sha256:[0-9a-f]{64}$/.test(each.digest), `the digest ${each.digest} is taken`);
        return `${Object.keys(found)[0]} ${Math.min(all.length, 4)}`;
      },
    ),
};

export const ociConfig: Target = {
  name: "OCI image configuration",
  corpus: [
    JSON.stringify({
      os: "linux",
      architecture: "amd64",
      created: "2026-01-01T00:00:00Z",
      config: { User: "1:2", Env: ["A=b"], Cmd: ["sh"], Labels: { a: "b" }, Volumes: { "/v": {} } },
      rootfs: { type: "layers", diff_ids: [digest] },
    }),
    '{"config":{"Env":[1,null],"Labels":"x","Volumes":[],"Cmd":{}},"rootfs":{"diff_ids":["x"]}}',
    '{"config":null,"rootfs":null}',
    '{"config":{"Labels":{"a":{},"b":1,"c":"d"}}}',
  ],
  words: [
    '"config"',
    '"Env"',
    '"Cmd"',
    '"Labels"',
    '"Volumes"',
    '"User"',
    '"rootfs"',
    '"diff_ids"',
    `"${digest}"`,
    "{",
    "}",
    "[",
    "]",
    ":",
    ",",
  ],
  run: (input) =>
    attempt(
      () => parseImageConfig(input, "the configuration"),
      ({ config, rootfs }) => {
        for (const value of Object.values(config.Labels ?? {}))
          check(typeof value === "string", `a label of the type ${typeof value} is taken`);
        for (const list of [config.Env, config.Entrypoint, config.Cmd])
          check(
            (list ?? []).every((word) => typeof word === "string"),
            "a word that is no text is taken",
          );
        return `${Object.keys(config).join()} ${Math.min(rootfs.diffIds.length, 2)}`;
      },
    ),
};

export const imageReference: Target = {
  name: "image reference",
  corpus: ["busybox", "registry.example:5000/a/b:v1", `a@${digest}`, "[::1]:80/x:y", "a__b/c--d.e:latest", "A/B"],
  words: ["/", ":", "@", digest, "docker.io", "library", "..", "-", "__", "[", "]", ":5000/"],
  run: (input) =>
    attempt(
      () => parseReference(input.toString()),
      (reference) => {
        const text = formatReference(reference);
        check(formatReference(parseReference(text)) === text, `the canonical form ${text} is not stable`);
        check(!text.split("/").includes(".."), `${text} leads upwards`);
        return Object.keys(reference).join();
      },
    ),
};
