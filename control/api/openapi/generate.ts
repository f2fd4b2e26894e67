// Makes the OpenAPI documents and the compact schemas from the schema package. Runs at set-up; nothing of it is committed.
//   node control/api/openapi/generate.ts <folder>

import { createHash } from "node:crypto";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { builtinResources } from "../../resources/index.ts";
import { addressRange } from "../../resources/service/address-range.ts";
import { ServiceAllocator } from "../../resources/service/allocator.ts";
import { versionInfo } from "../health.ts";
import { annotate } from "./annotate.ts";
import { compactLines } from "./compact.ts";
import { documentV2, documentV3, openApiPath } from "./documents.ts";
import { encodeV2 } from "./gnostic.ts";
import { readModels } from "./read-models.ts";

/** Writes index.json (path to hash), one document per group and version, the two v2 forms, and the compact schemas. */
export function generateOpenApi(folder: string): void {
  const allocator = new ServiceAllocator([addressRange("10.43.0.0/16")], { first: 30000, last: 32767 });
  const definitions = builtinResources({ serviceAllocator: allocator });
  const groups = Map.groupBy(definitions, openApiPath);
  const versions = [...groups.values()].map(([first]) => ({
    group: first?.group ?? "",
    version: first?.version ?? "",
  }));
  const models = readModels(versions);
  annotate(models, definitions);
  const info = { title: "Kubernetes", version: versionInfo.gitVersion };
  mkdirSync(folder, { recursive: true });
  const index: Record<string, string> = {};
  for (const [path, own] of groups) {
    const text = JSON.stringify(documentV3(models, own, info));
    index[path] = createHash("sha512").update(text).digest("hex").toUpperCase();
    writeFileSync(join(folder, `v3-${path.replaceAll("/", "_")}.json.gz`), gzipSync(text, { level: 9 }));
  }
  const everything = documentV2(models, definitions, info);
  writeFileSync(join(folder, "v2.json.gz"), gzipSync(JSON.stringify(everything), { level: 9 }));
  writeFileSync(join(folder, "v2.pb.gz"), gzipSync(encodeV2(everything), { level: 9 }));
  writeFileSync(join(folder, "schemas.txt.gz"), gzipSync(compactLines(models), { level: 9 }));
  writeFileSync(join(folder, "index.json"), JSON.stringify(index));
}

if (import.meta.main) {
  const folder = process.argv[2];
  if (!folder) throw new Error("usage: generate.ts <folder>");
  generateOpenApi(folder);
}
