/** What the operations are grouped by, in the order in which the page shows them: first what a product needs, then who runs it. */
export const tags = [
  { name: 'Tenants', description: "A product's customers. The first event or endpoint of one makes it." },
  { name: 'Endpoints', description: 'URLs of a tenant that want events, how they do, their secrets, and recovery.' },
  { name: 'Events', description: 'Facts with a type and a payload, each published once.' },
  { name: 'Deliveries', description: 'What is owed, one event to one endpoint, and the attempts that were made.' },
  { name: 'Event types', description: 'The catalogue: schemas and examples, and the whole as one document.' },
  { name: 'Jobs', description: 'Work over many rows: recoveries, and deletions of tenants.' },
  { name: 'API keys', description: 'Keys of an operator, of one tenant, or only to publish.' },
  { name: 'Health', description: 'Whether the process lives and can serve. No key is asked for.' },
  { name: 'Docs', description: 'This contract.' },
]
