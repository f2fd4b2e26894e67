// The bill of materials of an archive, as CycloneDX 1.6 JSON, made from the lock file alone: the same input gives the same text.

import { createHash } from "node:crypto";
import { type LockedPackage, publishedName } from "./lock-file.ts";

interface Program {
  readonly name: string;
  readonly version: string;
  readonly license: string;
}

export function sbomOf(program: Program, packages: readonly [path: string, LockedPackage][]): object {
  const components = packages.map(([path, one]) => component(publishedName(path, one), one));
  const content = { bomFormat: "CycloneDX", specVersion: "1.6", version: 1 };
  const metadata = {
    component: {
      type: "application",
      "bom-ref": program.name,
      name: program.name,
      version: program.version,
      licenses: [{ license: { id: program.license } }],
    },
  };
  const refs = new Map(packages.map(([path, one]) => [path.slice("node_modules/".length), refOf(path, one)]));
  const dependencies = [
    { ref: program.name, dependsOn: [...new Set(refs.values())].sort() },
    ...packages.map(([path, one]) => ({
      ref: refOf(path, one),
      dependsOn: Object.keys({ ...one.dependencies, ...one.optionalDependencies })
        .flatMap((name) => refs.get(name) ?? [])
        .sort(),
    })),
  ];
  const serial = createHash("sha256").update(JSON.stringify(components)).digest("hex");
  const serialNumber = `urn:uuid:${serial.slice(0, 8)}-${serial.slice(8, 12)}-5${serial.slice(13, 16)}-8${serial.slice(17, 20)}-${serial.slice(20, 32)}`;
  return { ...content, serialNumber, metadata, components, dependencies };
}

const refOf = (path: string, one: LockedPackage) => purl(publishedName(path, one), one.version);

/** A package URL: the slash of a scope stays, its @ is escaped. */
function purl(name: string, version: string): string {
  return `pkg:npm/${name.replace(/^@/, "%40")}@${version}`;
}

function component(name: string, { version, integrity, license }: LockedPackage): object {
  const [group, plain] = name.startsWith("@") ? name.split("/") : [undefined, name];
  const hash = /^sha512-(.+)$/.exec(integrity ?? "")?.[1];
  return {
    type: "library",
    "bom-ref": purl(name, version),
    ...(group ? { group } : {}),
    name: plain,
    version,
    purl: purl(name, version),
    ...(hash ? { hashes: [{ alg: "SHA-512", content: Buffer.from(hash, "base64").toString("hex") }] } : {}),
    // A single name is an SPDX id; more than one is an expression.
    ...(license ? { licenses: [/[\s()]/.test(license) ? { expression: license } : { license: { id: license } }] } : {}),
  };
}
