// A tool with an import: the file beside it is read, too, and a change of it takes effect at once.
import { convert, units } from './lib/units';

export const schema = {
  name: 'convert_units',
  description: 'Converts a length, mass or temperature from one unit to another',
  annotations: { readOnlyHint: true },
  type: 'object',
  properties: {
    value: { type: 'number', description: 'How much' },
    from: { type: 'string', description: 'The unit it is in', enum: units },
    to: { type: 'string', description: 'The unit it shall be in', enum: units },
  },
  required: ['value', 'from', 'to'],
};

export default async function (request: ToolRequest) {
  const { value, from, to } = request.params.arguments as { value: number; from: string; to: string };
  return { value: convert(value, from, to), unit: to };
}
