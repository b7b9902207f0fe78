/** One metric of a text that Prometheus would read. */

export interface MetricSample {
  readonly value: number;
  /** empty where it has no such label */
  label(name: string): string;
}

export function metricSamples(text: string, metric: string): readonly MetricSample[] {
  return text
    .split('\n')
    .filter((line) => line.startsWith(`${metric}{`))
    .map((line) => ({
      value: Number(line.slice(line.lastIndexOf(' ') + 1)),
      label: (name) => new RegExp(`[{,]${name}="([^"]*)"`).exec(line)?.[1] ?? '',
    }));
}

export const sumOf = (samples: readonly MetricSample[]): number =>
  samples.reduce((sum, { value }) => sum + value, 0);
