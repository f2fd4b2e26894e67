import t from "tap";
import { clusterNetworkFrom, networkData, networkFromData } from "./cluster-network.ts";

t.test("clusterNetworkFrom() puts the DNS address at the tenth of the service range, in each family", async (t) => {
  t.same(clusterNetworkFrom({ "service-cidr": "10.53.0.0/16" }).clusterDns, ["10.53.0.10"]);
  t.same(clusterNetworkFrom({ "service-cidr": "10.53.0.0/16,fd53::/112" }).clusterDns, ["10.53.0.10", "fd53::a"]);
  t.same(clusterNetworkFrom({}), {
    clusterCidrs: ["10.42.0.0/16"],
    serviceCidrs: ["10.43.0.0/16"],
    clusterDns: ["10.43.0.10"],
    clusterDomain: "cluster.local",
  });
  t.same(
    clusterNetworkFrom({ "cluster-dns": "169.254.20.10" }),
    {
      clusterCidrs: ["10.42.0.0/16"],
      serviceCidrs: [],
      clusterDns: ["169.254.20.10"],
      clusterDomain: "cluster.local",
    },
    "a node of another Kubernetes need not know the range of services",
  );
});

t.test("clusterNetworkFrom() refuses what cannot work, with the flag and the fix", async (t) => {
  for (const [name, settings, message] of [
    ["no CIDR", { "cluster-cidr": "10.42.0.0" }, /^Bad value for --cluster-cidr: "10\.42\.0\.0" is not a CIDR/],
    [
      "two of a family",
      { "service-cidr": "10.43.0.0/16,10.44.0.0/16" },
      /^Bad value for --service-cidr: .*each family/,
    ],
    ["no address", { "cluster-dns": "dns" }, /^Bad value for --cluster-dns: "dns" is not an address/],
    [
      "DNS elsewhere",
      { "service-cidr": "10.53.0.0/16", "cluster-dns": "10.43.0.10" },
      /^Bad value for --cluster-dns: 10\.43\.0\.10 is not in --service-cidr 10\.53\.0\.0\/16; leave .* to use 10\.53\.0\.10$/,
    ],
    [
      "the API's address",
      { "service-cidr": "10.53.0.0/16", "cluster-dns": "10.53.0.1" },
      /^Bad value for --cluster-dns: 10\.53\.0\.1 is reserved .* to use 10\.53\.0\.10$/,
    ],
    [
      "overlap",
      { "cluster-cidr": "10.42.0.0/15", "service-cidr": "10.43.0.0/16" },
      /^Cannot use --service-cidr 10\.43\.0\.0\/16: it overlaps with --cluster-cidr 10\.42\.0\.0\/15/,
    ],
    [
      "overlap in the second family",
      { "cluster-cidr": "10.42.0.0/16,fd42::/48", "service-cidr": "10.43.0.0/16,fd42::/112" },
      /^Cannot use --service-cidr fd42::\/112: it overlaps with --cluster-cidr fd42::\/48/,
    ],
    ["too small", { "service-cidr": "10.53.0.0/29" }, /^Bad value for --service-cidr: .*set --cluster-dns$/],
  ] as const)
    t.throws(() => clusterNetworkFrom(settings), { code: "invalid", message }, name);
});

t.test("networkFromData() reads what networkData() wrote, and nothing that is not whole", async (t) => {
  const network = clusterNetworkFrom({ "service-cidr": "10.53.0.0/16,fd53::/112", "cluster-domain": "home.arpa" });
  t.same(networkFromData(networkData(network)), network);
  t.equal(networkFromData(undefined), undefined);
  t.equal(networkFromData({ ...networkData(network), "cluster-dns": "" }), undefined);
  t.equal(networkFromData({ ...networkData(network), "cluster-cidr": "nonsense" }), undefined);
});
