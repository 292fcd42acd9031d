// A cluster that speaks Kafka's protocol, in a process of its own: librdkafka's, from Debian's kafkacat. It keeps nothing on the disk,
// so it is not killed; its consumers are.

import { type ProcessGroup, spawnGroup } from "../../../support/process-group.ts";
import { programPath } from "../../../support/programs.ts";

export async function startKafka(dir: string): Promise<{ readonly port: number; readonly group: ProcessGroup }> {
  // It lives as long as its input.
  const command = `tail -f /dev/null | ${programPath("kcat")} -P -b x:1 -t boot -X test.mock.num.brokers=1 -d mock`;
  const found = Promise.withResolvers<number>();
  const onOutput = (text: string): void => {
    const port = /bootstrap\.servers=127\.0\.0\.1:(\d+)/.exec(text)?.[1];
    if (port !== undefined) found.resolve(Number(port));
  };
  const group = await spawnGroup("sh", ["-c", command], { cwd: dir, env: process.env, onOutput });
  const port = await Promise.race([found.promise, group.exited]);
  if (port === undefined) throw new Error(`kcat did not start:\n${group.output()}`);
  return { port, group };
}
