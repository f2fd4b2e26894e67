import t from "tap";
import { PullBoard } from "../../api/pull-board.ts";
import { AuthConfig } from "../../api/gen/runtime.js";
import { registryAuth, splitName, tell } from "./image-pull.ts";
import { fullName } from "./image-view.ts";

t.test("splitName() never leaves the tag out", async (t) => {
  const digest = `sha256:${"a".repeat(64)}`;
  t.same(splitName("nginx"), { repository: "nginx", tag: "latest" });
  t.same(splitName("host:5000/a/b"), { repository: "host:5000/a/b", tag: "latest" });
  t.same(splitName("host:5000/a/b:1"), { repository: "host:5000/a/b", tag: "1" });
  t.same(splitName(`a/b:1@${digest}`), { repository: "a/b", tag: digest });
});

t.test("fullName() writes out what the daemon shortens", async (t) => {
  t.equal(fullName("nginx:1"), "docker.io/library/nginx:1");
  t.equal(fullName("bitnami/redis:7"), "docker.io/bitnami/redis:7");
  t.equal(fullName("quay.io/a/b:1"), "quay.io/a/b:1");
  t.equal(fullName("localhost/a:1"), "localhost/a:1");
  t.equal(fullName("host:5000/a:1"), "host:5000/a:1");
});

t.test("registryAuth() takes a name and password, or both in one", async (t) => {
  const read = (value: string | undefined) => JSON.parse(Buffer.from(value ?? "", "base64url").toString()) as object;
  t.equal(registryAuth(AuthConfig.create({})), undefined);
  t.match(read(registryAuth(AuthConfig.create({ username: "u", password: "p:w" }))), {
    username: "u",
    password: "p:w",
  });
  const odd = registryAuth(AuthConfig.create({ username: "u?>~", password: "pp" })) ?? "";
  t.match(odd, /^[\w-]+=*$/);
  t.equal(odd.length % 4, 0, "padded");
  const auth = Buffer.from("u:p:w").toString("base64");
  t.match(read(registryAuth(AuthConfig.create({ auth }))), { username: "u", password: "p:w" });
  t.match(read(registryAuth(AuthConfig.create({ identityToken: "i" }))), { identitytoken: "i" });
});

t.test("tell() puts on the board what the daemon says of layers", async (t) => {
  const board = new PullBoard();
  const meter = board.begin("a:1");
  const bytes = () => board.list()[0];
  tell(meter, { status: "Pulling from library/a", id: "1" });
  tell(meter, { status: "Pulling fs layer", id: "aa", progressDetail: {} });
  t.match(bytes(), { bytes: 0, totalBytes: 0 });
  tell(meter, { status: "Downloading", id: "aa", progressDetail: { current: 10, total: 100 } });
  tell(meter, { status: "Downloading", id: "bb", progressDetail: { current: 5, total: 50 } });
  t.match(bytes(), { bytes: 15, totalBytes: 150 });
  tell(meter, { status: "Download complete", id: "aa" });
  tell(meter, { status: "Extracting", id: "aa", progressDetail: { current: 20, total: 100 } });
  t.match(bytes(), { bytes: 105, totalBytes: 150 }, "unpacking is not fetching");
});
