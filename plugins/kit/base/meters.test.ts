import t from "tap";
import { Meters } from "./meters.ts";

t.test("Meters count by labels", async (t) => {
  const meters = new Meters();
  const requests = meters.counter("requests_total", "Requests.");
  t.equal(meters.text(), "", "what has not counted is not told");
  requests.add({ code: "200" });
  requests.add({ code: "200" });
  requests.add({ code: 'a"b\\c' }, 3);
  t.equal(
    meters.text(),
    '# HELP requests_total Requests.\n# TYPE requests_total counter\nrequests_total{code="200"} 2\nrequests_total{code="a\\"b\\\\c"} 3\n',
  );
  t.throws(() => meters.counter("requests_total", "again"));
});

t.test("Meters keep histograms whose buckets hold all below them", async (t) => {
  const meters = new Meters();
  const seconds = meters.histogram("took_seconds", "Took.", [1, 2]);
  for (const value of [0.5, 1, 1.5, 7]) seconds.observe({}, value);
  t.equal(
    meters.text(),
    '# HELP took_seconds Took.\n# TYPE took_seconds histogram\ntook_seconds_bucket{le="1"} 2\ntook_seconds_bucket{le="2"} 3\ntook_seconds_bucket{le="+Inf"} 4\ntook_seconds_sum 10\ntook_seconds_count 4\n',
  );
});

t.test("Meters read gauges when they are asked", async (t) => {
  const meters = new Meters();
  let pods = 1;
  meters.gauge("pods", "Pods.", () => [
    [{ phase: "Running" }, pods],
    [{ phase: "Pending" }, 0],
  ]);
  meters.gauge("nothing", "Nothing.", () => []);
  const text = (running: number) =>
    `# HELP pods Pods.\n# TYPE pods gauge\npods{phase="Running"} ${running}\npods{phase="Pending"} 0\n`;
  t.equal(meters.text(), text(1));
  pods = 2;
  t.equal(meters.text(), text(2));
});
