// A tool that calls another one, through the gateway: arguments are checked, policies hold, the chain is kept.
export const schema = {
  name: 'trip_weight',
  description: 'Adds up the weight of what is packed and says it in pounds',
  annotations: { readOnlyHint: true },
  type: 'object',
  properties: {
    kilograms: { type: 'array', items: { type: 'number' }, description: 'The weight of each thing in kilograms' },
  },
  required: ['kilograms'],
};

export default async function (request: ToolRequest) {
  const kilograms = request.params.arguments.kilograms as number[];
  const sum = kilograms.reduce((total, one) => total + one, 0);
  const converted = await callToolHandler({
    params: { name: 'convert_units', arguments: { value: sum, from: 'kg', to: 'pound' } },
  });
  if (converted.isError) throw new Error(converted.content[0]?.text ?? 'the conversion failed');
  const pounds = (converted.structuredContent as { value: number }).value;
  return { kilograms: sum, pounds: Math.round(pounds * 100) / 100 };
}
