import t from "tap";
import { CidrPool } from "./cidr-pool.ts";

t.test("CidrPool gives each block once", async (t) => {
  const pool = new CidrPool("10.42.0.0/22");
  t.same([pool.take(), pool.take()], ["10.42.0.0/24", "10.42.1.0/24"]);
  t.equal(pool.occupy("10.42.2.0/24"), true);
  t.same([pool.take(), pool.take()], ["10.42.3.0/24", undefined]);
  pool.release("10.42.1.0/24");
  t.equal(pool.take(), "10.42.1.0/24");
});

t.test("CidrPool knows its own blocks", async (t) => {
  const pool = new CidrPool("10.42.7.9/16");
  for (const foreign of ["10.43.0.0/24", "10.42.0.0/25", "fd00::/64", "nonsense"])
    t.equal(pool.occupy(foreign), false, foreign);
});

t.test("CidrPool cuts IPv6 ranges", async (t) => {
  const pool = new CidrPool("fd00:42::/56");
  t.same([pool.take(), pool.take()], ["fd00:42::/64", "fd00:42:0:1::/64"]);
});

t.test("CidrPool refuses what is no range", async (t) => {
  t.throws(() => new CidrPool("10.42.0.0"), { code: "invalid" });
  t.throws(() => new CidrPool("10.42.0.0/24", 16), { code: "invalid" });
});
