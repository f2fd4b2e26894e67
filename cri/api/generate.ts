// Regenerates gen/*.js and gen/*.d.ts from the .proto files of a folder: protoc with ts-proto, then tsc, because
// stripping types from half a megabyte of TypeScript at every start costs memory.
// Run `node cri/api/generate.ts` after changing a .proto here.

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const bin = join(import.meta.dirname, "../../node_modules/.bin");

const options = [
  "outputServices=generic-definitions", // plain tables: importing a message never loads grpc-js
  "enumsAsLiterals=true",
  "unrecognizedEnum=false",
  "useOptionals=messages",
  "forceLong=bigint", // nanosecond stamps and cgroup limits do not fit a double
  "outputJsonMethods=false",
  "useExactTypes=false",
  "esModuleInterop=true",
  "importSuffix=.js",
].join(",");

/** Writes JavaScript and declarations for every .proto in `from` to `to`, which it empties first. */
export function generate(from: string, to: string): void {
  const protos = readdirSync(from).filter((name) => name.endsWith(".proto"));
  // Within the project, so that the compiler finds the packages that the generated code imports.
  const scratch = mkdtempSync(join(import.meta.dirname, ".generate-"));
  try {
    execFileSync(join(bin, "protoc"), [
      `-I${from}`,
      `--plugin=${join(bin, "protoc-gen-ts_proto")}`,
      `--ts_proto_out=${scratch}`,
      `--ts_proto_opt=${options}`,
      ...protos,
    ]);
    rmSync(to, { recursive: true, force: true });
    mkdirSync(to, { recursive: true });
    const sources = readdirSync(scratch, { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
    const settings = ["--ignoreConfig", "--target", "es2024", "--module", "nodenext", "--types", "node", "--strict"];
    execFileSync(
      join(bin, "tsc"),
      [...settings, "--skipLibCheck", "--declaration", "--rootDir", scratch, "--outDir", to].concat(
        sources.map((name) => join(scratch, name)),
      ),
      { stdio: "inherit" },
    );
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

if (import.meta.main) {
  const folder = process.argv[2] ?? import.meta.dirname;
  generate(folder, join(folder, "gen"));
}
