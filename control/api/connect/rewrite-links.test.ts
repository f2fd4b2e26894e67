import t from "tap";
import { isProxyable } from "./proxyable.ts";
import { linkThrough, rewriteLinks } from "./rewrite-links.ts";

const prefix = "/api/v1/namespaces/default/services/web/proxy";
const base = { prefix, hosts: ["10.1.2.3:80", "localhost:8001"] };

const links = [
  { name: "from the root", link: "/style.css", becomes: `${prefix}/style.css` },
  { name: "to the proxied host", link: "http://10.1.2.3:80/a?b=c#d", becomes: `${prefix}/a?b=c#d` },
  { name: "to the host that the client asked", link: "//localhost:8001/a", becomes: `${prefix}/a` },
  { name: "to the host's root", link: "http://10.1.2.3:80", becomes: `${prefix}/` },
  { name: "that leads through already", link: `${prefix}/a`, becomes: `${prefix}/a` },
  { name: "that only begins like that", link: `${prefix}-more`, becomes: `${prefix}${prefix}-more` },
  { name: "relative", link: "a/b.css", becomes: "a/b.css" },
  { name: "to elsewhere", link: "https://example.com/a", becomes: "https://example.com/a" },
  { name: "to elsewhere without a scheme", link: "//example.com/a", becomes: "//example.com/a" },
  { name: "of another kind", link: "mailto:a@example.com", becomes: "mailto:a@example.com" },
  { name: "to a place in the page", link: "#top", becomes: "#top" },
];

for (const { name, link, becomes } of links)
  t.test(`linkThrough(): a link ${name}`, async (t) => {
    t.equal(linkThrough(base, link), becomes);
  });

async function through(...pieces: string[]): Promise<string> {
  const source = new ReadableStream<Uint8Array>({
    start(to) {
      for (const piece of pieces) to.enqueue(new TextEncoder().encode(piece));
      to.close();
    },
  });
  return new Response(source.pipeThrough(rewriteLinks(base))).text();
}

const page = `<!doctype html>
<html><head><title><a href="/no"></title><link rel=stylesheet href=/style.css><script src='/app.js'></script>
<script>if (1 < 2) document.write('<a href="/no">')</script></head>
<body data-href="/no"><!-- <a href="/no"> --><a HREF = "/yes" title="a > b">häß</a>
<img alt="" src="/i.png"><form action="/send"><a href="there">x</a></form></body></html>`;

const expected = page
  .replace("href=/style.css", `href=${prefix}/style.css`)
  .replace("'/app.js'", `'${prefix}/app.js'`)
  .replace('"/yes"', `"${prefix}/yes"`)
  .replace('"/i.png"', `"${prefix}/i.png"`)
  .replace('"/send"', `"${prefix}/send"`);

t.test("rewriteLinks() changes links in elements, and nothing in scripts, comments and other attributes", async (t) => {
  t.equal(await through(page), expected);
});

t.test("rewriteLinks() is the same however the page is cut", async (t) => {
  for (let at = 1; at < page.length; at += 7) t.equal(await through(page.slice(0, at), page.slice(at)), expected);
  t.equal(await through(...page.split("")), expected, "letter by letter");
});

t.test("rewriteLinks() passes on what is no page", async (t) => {
  t.equal(await through("a < b and c > d <"), "a < b and c > d <");
  t.equal(await through(`<a href="/never ends`), `<a href="/never ends`);
  const long = `<a ${"x".repeat(100_000)}`;
  t.equal(await through(long, "y"), `${long}y`);
});

t.test("isProxyable() closes loopback in every notation", async (t) => {
  for (const host of [
    "127.0.0.1",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "[::ffff:7f00:1]",
    "169.254.169.254",
    "0.0.0.0",
    "localhost",
  ])
    t.notOk(isProxyable(host), host);
  for (const host of ["10.1.2.3", "[fd00::1]"]) t.ok(isProxyable(host), host);
});
