// What a unit is in the unit of its dimension: factor and offset.
type Unit = { dimension: 'length' | 'mass' | 'temperature'; factor: number; offset?: number };

const table: Record<string, Unit> = {
  m: { dimension: 'length', factor: 1 },
  km: { dimension: 'length', factor: 1000 },
  mile: { dimension: 'length', factor: 1609.344 },
  foot: { dimension: 'length', factor: 0.3048 },
  kg: { dimension: 'mass', factor: 1 },
  pound: { dimension: 'mass', factor: 0.45359237 },
  celsius: { dimension: 'temperature', factor: 1 },
  fahrenheit: { dimension: 'temperature', factor: 5 / 9, offset: -32 },
};

export const units = Object.keys(table);

export function convert(value: number, from: string, to: string): number {
  const [source, target] = [table[from], table[to]];
  if (!source || !target) throw new Error(`units are ${units.join(', ')}`);
  if (source.dimension !== target.dimension) {
    throw new Error(`${from} is a ${source.dimension}, ${to} is a ${target.dimension}`);
  }
  const base = (value + (source.offset ?? 0)) * source.factor;
  return base / target.factor - (target.offset ?? 0);
}
