// The page in a real browser: it loads and moves, refuses logs without a token, follows them with one, runs what is typed in its
// terminal, shows probes, events and the cluster, and can be used on a phone and by keyboard alone.

import { execFile } from "node:child_process";
import { randomBytes } from "node:crypto";
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { gzipSync } from "node:zlib";
import { chromium, type Page } from "playwright-core";
import t from "tap";
import { testPki } from "../harness/certificates.ts";
import { imageOf, layerOf } from "../harness/image-builder.ts";
import { busyboxImage, busyboxImageName, imageArchive } from "../harness/images.ts";
import { openKernel } from "../../cni/net/kernel.ts";
import { parseAddress, parsePrefix } from "../../plugins/kit/os/net/address.ts";
import { noNetworkReason, playHost, testNetns } from "../harness/network.ts";
import { TestRegistry } from "../harness/registry.ts";
import { freePort, startSkiff } from "../harness/skiff.ts";

const browserPath = "/usr/bin/chromium";
const root = join(import.meta.dirname, "../..");
const artifacts = join(root, "test/artifacts");
const skip = existsSync(browserPath) ? noNetworkReason() : "needs chromium";

const container = (script: string, more: object = {}) => ({
  name: "main",
  image: busyboxImageName,
  command: ["sh", "-c", script],
  ...more,
});

const web = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "web" },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [
      container("i=0; while true; do i=$((i+1)); echo line-$i; sleep 0.2; done", {
        readinessProbe: { exec: { command: ["echo", "i-am-fine"] }, periodSeconds: 1 },
      }),
    ],
  },
};

const ill = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "ill" },
  spec: {
    terminationGracePeriodSeconds: 0,
    containers: [
      container("sleep infinity", {
        readinessProbe: { exec: { command: ["sh", "-c", "echo no-luck; exit 1"] }, periodSeconds: 1 },
      }),
    ],
  },
};

const unlucky = {
  apiVersion: "v1",
  kind: "Pod",
  metadata: { name: "unlucky" },
  spec: { terminationGracePeriodSeconds: 0, containers: [container("echo last-words; exit 1")] },
};

/** Words in cells of tables that stand on more than one line. */
const brokenWords = (page: Page): Promise<string[]> =>
  page.evaluate(() => {
    const broken: string[] = [];
    for (const cell of document.querySelectorAll("th, td")) {
      const texts = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
      while (texts.nextNode()) {
        const node = texts.currentNode;
        for (const { 0: word, index } of (node.textContent ?? "").matchAll(/[\p{L}\p{N}]+/gu)) {
          const range = document.createRange();
          range.setStart(node, index);
          range.setEnd(node, index + word.length);
          const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
          if (lines.size > 1) broken.push(word);
        }
      }
    }
    return broken;
  });

const deployment = {
  apiVersion: "apps/v1",
  kind: "Deployment",
  metadata: { name: "shop" },
  spec: {
    replicas: 1,
    selector: { matchLabels: { app: "shop" } },
    template: {
      metadata: { labels: { app: "shop" } },
      spec: { terminationGracePeriodSeconds: 0, containers: [container("sleep infinity")] },
    },
  },
};

const waitMs = 120_000;

t.test("the page is small until a terminal is opened", { skip }, async (t) => {
  const folder = join(root, ".generated/ui");
  const page = readFileSync(join(folder, "app.js"), "utf8");
  // What the page's script loads at once: its static imports, not those that wait for a terminal.
  const chunks = [...page.matchAll(/from\s*"\.\/(chunk-[\w-]+\.js)"/g)].map(([, name = ""]) => name);
  const files = ["index.html", "app.css", "app.js", ...chunks];
  const bytes = files.reduce((sum, name) => sum + gzipSync(readFileSync(join(folder, name))).length, 0);
  t.ok(bytes < 60 * 1024, `${bytes} bytes`);
});

t.test("the page", { skip, timeout: 600_000 }, async (t) => {
  // A browser drops what it is loading when the machine's interfaces change: this one lives where only its own node makes any.
  await playHost();
  const kernel = openKernel();
  t.teardown(() => kernel.close());
  const wire = kernel.enter(testNetns(t));
  await kernel.host.createVeth({ name: "up0", peer: { name: "eth0", space: wire } });
  wire.close();
  const up = await kernel.host.getLink("up0");
  await kernel.host.setLink(up.index, { up: true });
  await kernel.host.addAddress(up.index, parsePrefix("198.51.100.1/24"));
  await kernel.host.addRoute({ family: 4, link: up.index, gateway: parseAddress("198.51.100.2") });
  const dataDir = mkdtempSync(join(tmpdir(), "skiff-page-"));
  mkdirSync(join(dataDir, "images"));
  writeFileSync(join(dataDir, "images", "busybox.tar"), await imageArchive(busyboxImage()));
  const port = await freePort();
  const skiff = await startSkiff({ dataDir, flags: ["--runtime=native", `--ui-port=${port}`] });
  t.teardown(async () => {
    await skiff.stop();
    rmSync(dataDir, { recursive: true, force: true });
  });
  await skiff.apply(web, ill, unlucky, deployment);
  await skiff.kubectl("wait", "--for=condition=Ready", "pod/web", "--timeout=120s");
  await skiff.kubectl("wait", "--for=condition=Available", "deployment/shop", "--timeout=120s");

  const browser = await chromium.launch({
    executablePath: browserPath,
    args: [
      "--headless",
      "--no-sandbox",
      "--disable-gpu",
      "--disable-quic",
      "--no-first-run",
      "--disable-background-networking",
      "--disable-component-update",
      "--disable-sync",
    ],
  });
  t.teardown(() => browser.close());
  mkdirSync(artifacts, { recursive: true });
  const errors: string[] = [];
  const open = async (url: string, more: Parameters<typeof browser.newContext>[0] = {}) => {
    const context = await browser.newContext({ viewport: { width: 1100, height: 900 }, ...more });
    context.setDefaultTimeout(waitMs);
    const page = await context.newPage();
    page.on("pageerror", (error) => errors.push(String(error)));
    await page.goto(url);
    return page;
  };
  const shot = (page: Page, name: string, fullPage = true) =>
    page.screenshot({ path: join(artifacts, `page-${name}.png`), fullPage });
  const address = `http://127.0.0.1:${port}/`;
  const args = ["ui", `--data-dir=${dataDir}`];
  const { stdout } = await promisify(execFile)(join(root, "skiff"), args, { cwd: root });
  t.match(stdout, new RegExp(`^http://127\\.0\\.0\\.1:${port}/#token=\\S+\\n$`));
  const link = stdout.trim();
  const toMain = async (page: Page) => {
    await page
      .getByRole("row", { name: /default\/web/ })
      .getByRole("link", { name: "main" })
      .click();
    await page.getByRole("heading", { name: "default/web/main" }).waitFor();
  };

  await t.test("without a token it shows nothing, and says when a token is not valid", async (t) => {
    const page = await open(address);
    await page.getByText("The node and its pods need a token").waitFor();
    t.equal(await page.getByRole("alert").count(), 0);
    for (const path of ["state", "metrics", "api/v2.1/ps/", "cluster", "containerLogs/default/web/main"])
      t.equal((await fetch(`${address}${path}`)).status, 401, path);
    t.equal((await fetch(`${address}state`, { method: "POST" })).status, 404, "nothing is changed from here");
    await page.getByLabel(/token/).fill("nonsense");
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("alert").getByText("This token is not valid").waitFor();
    t.equal(await page.getByText(skiff.nodeName).count(), 0, "a wrong token shows nothing");
    await page.getByLabel(/token/).fill(decodeURIComponent(link.slice(link.indexOf("#token=") + "#token=".length)));
    await page.getByRole("button", { name: "Sign in" }).click();
    await page.getByRole("heading", { name: skiff.nodeName }).waitFor();
    t.pass("the right one does");
    await page.context().close();
  });

  await t.test("the node is shown with plots that move", async (t) => {
    const page = await open(link);
    await page.getByRole("heading", { name: skiff.nodeName }).waitFor();
    const pointsOf = () => page.locator(".plot").first().getAttribute("data-points");
    const before = Number(await pointsOf());
    await page.waitForFunction(
      (known) => Number(document.querySelector(".plot")?.getAttribute("data-points")) > known,
      before,
    );
    t.pass("plots move");
    t.equal(await page.locator(".plot canvas").count(), 4, "CPU, memory, network and disk");
    await shot(page, "node");
    await page.context().close();
  });

  await t.test("a link of skiff ui signs in", async (t) => {
    const page = await open(link);
    await page.getByRole("heading", { name: skiff.nodeName }).waitFor();
    t.notMatch(page.url(), /token/, "the token does not stay in the address");
    await toMain(page);
    await page.locator("pre.log").getByText("line-1").waitFor();
    const lines = await page.locator("pre.log").innerText();
    await page.waitForFunction(
      (length) => (document.querySelector("pre.log")?.textContent ?? "").length > length,
      lines.length,
    );
    t.pass("the log is followed");
    await page.getByLabel("Search the log").fill("line-7");
    await page.waitForFunction(() => {
      const shown = (document.querySelector("pre.log")?.textContent ?? "").split("\n").filter(Boolean);
      return shown.length > 0 && shown.every((line) => line.includes("line-7"));
    });
    t.pass("the log is searched");
    await shot(page, "logs", false);
    await page.getByRole("button", { name: "Terminal" }).click();
    await page.locator(".xterm-rows").getByText("#").first().waitFor();
    await page.keyboard.type("echo answer-$((40+2))\n");
    await page.locator(".xterm-rows").getByText("answer-42", { exact: true }).waitFor();
    t.pass("what is typed runs");
    await shot(page, "terminal", false);

    await page.getByRole("link", { name: "Cluster" }).click();
    const nodes = page.getByRole("table", { name: "Nodes" });
    await nodes.getByRole("row", { name: new RegExp(`${skiff.nodeName}.*ready`) }).waitFor();
    const workloads = page.getByRole("table", { name: "Workloads" });
    await workloads.getByRole("row", { name: /default\/shop Deployment 1\/1/ }).waitFor();
    t.pass("the cluster's nodes and workloads are shown");
    await shot(page, "cluster");
    await page.goBack();
    await page.getByRole("heading", { name: "default/web/main" }).waitFor();
    t.pass("the way back is the browser's");
    await page.context().close();
  });

  await t.test("a pod shows its probes and events", async (t) => {
    const page = await open(link);
    await page.getByRole("link", { name: "default/ill" }).click();
    await page.getByLabel("Probes").getByText("no-luck").waitFor();
    await page.getByLabel("Probes").getByText("failed").waitFor();
    await page.getByLabel("Events").getByText("Readiness probe failed: no-luck").waitFor();
    t.pass("a failing probe, its output, and the event it makes");
    await shot(page, "pod");
    await page.getByRole("link", { name: skiff.nodeName }).click();
    await page.getByRole("link", { name: "default/web" }).click();
    await page.getByLabel("Probes").getByText("i-am-fine").waitFor();
    await page.getByLabel("Probes").getByText("successful").waitFor();
    t.pass("a good one");
    await page.context().close();
  });

  await t.test("a pod that keeps failing shows why, and what it said before its restart", async (t) => {
    const page = await open(link);
    const row = page.getByRole("row", { name: /default\/unlucky CrashLoopBackOff/ });
    await row.getByText("waiting CrashLoopBackOff").waitFor();
    await page.getByRole("row", { name: /default\/web/ }).waitFor();
    const order = await page.locator("td.name a").allInnerTexts();
    t.ok(order.indexOf("default/unlucky") < order.indexOf("default/web"), "failing pods first");
    await page.route("**/state*", (route) => route.abort());
    await page.getByText("does not answer").waitFor();
    t.equal(await page.getByText("healthy").count(), 0, "a node that is lost is not healthy");
    await page.unroute("**/state*");
    await page.getByText("healthy").waitFor();
    await row.getByRole("link", { name: "main" }).click();
    await page.getByLabel("before the restart").check();
    await page.locator("pre.log").getByText("last-words").waitFor();
    t.pass("in kubectl's words, with the log of the container before");
    const end = page.getByLabel("Last end");
    await end.getByText("exited with code 1").waitFor();
    await end.getByText("last-words").waitFor();
    await page.getByRole("button", { name: "Terminal" }).click();
    await page.getByText("A terminal needs a running container").waitFor();
    t.equal(await page.getByLabel(/token/).count(), 0, "a stopped container does not ask to sign in");
    await shot(page, "unlucky");
    await page.context().close();
  });

  await t.test("a pod that waits for its image shows how far the pull is", async (t) => {
    const registry = await TestRegistry.start();
    t.teardown(() => registry.stop());
    registry.faults.stallBlob = { afterBytes: 2 << 20, times: 1 };
    const image = registry.add(
      "big",
      "1",
      imageOf([layerOf([{ name: "big", content: randomBytes(4 << 20) }], "none")]),
    );
    const metadata = { name: "big" };
    await skiff.apply({ apiVersion: "v1", kind: "Pod", metadata, spec: { containers: [{ name: "main", image }] } });
    const page = await open(link);
    const row = page.getByRole("row", { name: /default\/big Pulling/ });
    await row.getByText("pulling its image: 2.0 MiB of 4.0 MiB").waitFor();
    await row.getByRole("link", { name: "default/big" }).click();
    await page.getByRole("listitem").getByText("pulling its image: 2.0 MiB of 4.0 MiB").waitFor();
    t.pass("in the list and on the pod's own page");
    await shot(page, "pull");
    await skiff.kubectl("delete", "pod", "big", "--force");
    await page.context().close();
  });

  await t.test("a keyboard is enough", async (t) => {
    const page = await open(link);
    await page.getByRole("link", { name: "default/web" }).waitFor();
    /** Tabs on until what has the focus says so; every stop is something that shows it has it. */
    const tabTo = async (name: string) => {
      for (let presses = 0; presses < 60; presses++) {
        await page.keyboard.press("Tab");
        const at = await page.evaluate(() => {
          const focused = document.activeElement;
          const outline = focused ? getComputedStyle(focused).outlineStyle : "none";
          return { text: focused?.textContent ?? "", outline };
        });
        if (at.text !== name) continue;
        t.not(at.outline, "none", `${name} shows that it is chosen`);
        return;
      }
      t.fail(`nothing named ${name} can be reached`);
    };
    await tabTo("default/web");
    await page.keyboard.press("Enter");
    await page.getByRole("heading", { name: "default/web" }).waitFor();
    await tabTo("main");
    await page.keyboard.press("Enter");
    await page.locator("pre.log").getByText("line-").waitFor();
    await tabTo("Terminal");
    await page.keyboard.press("Enter");
    await page.locator(".xterm-rows").getByText("#").first().waitFor();
    await page.keyboard.type("echo keys-$((1+1))\n");
    await page.locator(".xterm-rows").getByText("keys-2", { exact: true }).waitFor();
    await page.keyboard.press("Shift+Tab");
    t.notOk(
      await page.evaluate(() => document.activeElement?.closest(".terminal") !== null),
      "the terminal can be left again",
    );
    await page.context().close();
  });

  await t.test("a phone shows it, in the dark too", async (t) => {
    const phone = {
      viewport: { width: 390, height: 844 },
      isMobile: true,
      hasTouch: true,
      colorScheme: "dark",
    } as const;
    const page = await open(link, phone);
    const fits = async (what: string) => {
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
      t.ok(wide <= 0, `${what} is no wider than the phone (${wide})`);
    };
    await page.getByRole("heading", { name: skiff.nodeName }).waitFor();
    await fits("the node");
    const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
    t.match(back, /^rgb\(\d\d?, \d\d?, \d\d?\)$/, "dark");
    await shot(page, "phone");
    await page.getByRole("link", { name: "default/web" }).tap();
    await page.getByLabel("Probes").getByText("i-am-fine").waitFor();
    await fits("a pod");
    await page.getByRole("link", { name: "main" }).tap();
    await page.locator("pre.log").getByText("line-").waitFor();
    await fits("a container with its log");
    await shot(page, "phone-container");
    await page.getByRole("button", { name: "Terminal" }).tap();
    await page.locator(".xterm-rows").getByText("#").first().waitFor();
    await fits("a terminal");
    await page.getByRole("link", { name: "Cluster" }).tap();
    await page.getByRole("table", { name: "Workloads" }).getByText("default/shop").waitFor();
    await fits("the cluster");
    await page.context().close();
  });

  await t.test("tables break no word, whatever the width", async (t) => {
    for (const width of [390, 900]) {
      const page = await open(link, { viewport: { width, height: 844 } });
      await page.getByRole("row", { name: /unlucky/ }).waitFor();
      t.same(await brokenWords(page), [], `the node at ${width}`);
      await page.getByRole("link", { name: "Cluster" }).click();
      await page.getByRole("table", { name: "Workloads" }).getByText("default/shop").waitFor();
      t.same(await brokenWords(page), [], `the cluster at ${width}`);
      await shot(page, `tables-${width}`);
      await page.context().close();
    }
  });

  await t.test("on the kubelet's port it needs credentials", async (t) => {
    const origin = `https://127.0.0.1:${skiff.ports.kubelet}`;
    const stranger = await browser.newContext({ ignoreHTTPSErrors: true });
    const refused = await (await stranger.newPage()).goto(`${origin}/ui/`);
    t.equal(refused?.status(), 401);
    await stranger.close();
    // What a proxy before the port, or an extension of the browser, would add; the page's own requests carry the token by themselves.
    const token = decodeURIComponent(link.slice(link.indexOf("#token=") + "#token=".length));
    const page = await open(`${origin}/ui/#token=${encodeURIComponent(token)}`, {
      ignoreHTTPSErrors: true,
      extraHTTPHeaders: { authorization: `Bearer ${token}` },
    });
    await page.getByRole("heading", { name: skiff.nodeName }).waitFor();
    await toMain(page);
    await page.locator("pre.log").getByText("line-").waitFor();
    await page.getByRole("link", { name: "Cluster" }).click();
    await page.getByRole("table", { name: "Workloads" }).getByText("default/shop").waitFor();
    await page.goBack();
    await page.getByRole("button", { name: "Terminal" }).click();
    await page.locator(".xterm-rows").getByText("#").first().waitFor();
    await page.keyboard.type("echo kubelet-$((2+3))\n");
    await page.locator(".xterm-rows").getByText("kubelet-5", { exact: true }).waitFor();
    t.pass("a token opens all of it");
    await page.context().close();
  });

  await t.test("on the kubelet's port a browser's certificate opens it, without a token", async (t) => {
    const origin = `https://127.0.0.1:${skiff.ports.kubelet}`;
    const pem = (name: string) => {
      const [, data = ""] = new RegExp(`${name}: (\\S+)`).exec(readFileSync(skiff.kubeconfig, "utf8")) ?? [];
      return Buffer.from(data, "base64");
    };
    // The driver hands it to the node in the browser's name: what the browser's own store would do is not shown here.
    const admin = { cert: pem("client-certificate-data"), key: pem("client-key-data") };
    const page = await open(`${origin}/ui/`, {
      ignoreHTTPSErrors: true,
      clientCertificates: [{ origin, ...admin }],
    });
    await page.getByRole("heading", { name: skiff.nodeName }).waitFor();
    await toMain(page);
    await page.locator("pre.log").getByText("line-").waitFor();
    await page.getByRole("button", { name: "Terminal" }).click();
    await page.locator(".xterm-rows").getByText("#").first().waitFor();
    await page.keyboard.type("echo certified-$((3+4))\n");
    await page.locator(".xterm-rows").getByText("certified-7", { exact: true }).waitFor();
    await page.getByRole("link", { name: "Cluster" }).click();
    await page.getByRole("table", { name: "Workloads" }).getByText("default/shop").waitFor();
    t.equal(await page.getByLabel(/token/).count(), 0, "nothing asks for a token");
    await shot(page, "certificate");
    await page.context().close();
    const impostor = testPki().client("kubernetes-admin", ["system:masters"]);
    const stranger = { cert: Buffer.from(impostor.cert), key: Buffer.from(impostor.key) };
    const refused = await browser.newContext({
      ignoreHTTPSErrors: true,
      clientCertificates: [{ origin, ...stranger }],
    });
    t.equal(
      (await (await refused.newPage()).goto(`${origin}/ui/`))?.status(),
      401,
      "one of another authority does not",
    );
    await refused.close();
  });
  t.same(errors, [], "no script failed");
});
