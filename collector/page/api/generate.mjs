// Types of the API's answers, and its files for other tools, made of what the collector says of
// them: node generate.mjs < openapi.json > answers.ts
//
// The collector's own tables are the source (collector/answers/answer.h), so `update` asks a
// collector that is built. answers.ts is kept with the sources, as the collector carries the page
// that is made with it; e2e.page-types fails when it is not what the collector says any more.
import { readFileSync } from 'node:fs';

const { components, paths } = JSON.parse(readFileSync(0, 'utf8'));

/** fleet_snapshot: FleetSnapshot. `Map` hides JavaScript's own: types.ts gives it another name. */
const nameOf = (reference) =>
	reference
		.split('/')
		.at(-1)
		.split('_')
		.map((word) => word[0].toUpperCase() + word.slice(1))
		.join('');

const WIDTH = 100;
const widthOf = (line) => line.replaceAll('\t', '    ').length;

const simple = {
	integer: 'number',
	number: 'number',
	string: 'string',
	boolean: 'boolean',
	null: 'null',
};

function typeOf(schema) {
	if (schema.$ref) return nameOf(schema.$ref);
	if (schema.anyOf) return schema.anyOf.map(typeOf).join(' | ');
	if (schema.enum) return schema.enum.map((word) => `'${word}'`).join(' | ');
	if (!schema.type) return 'unknown';
	if (Array.isArray(schema.type)) return schema.type.map((type) => simple[type]).join(' | ');
	if (schema.type === 'array' && schema.maxItems)
		return `[${Array(schema.maxItems).fill(typeOf(schema.items)).join(', ')}]`;
	if (schema.type === 'array') {
		const item = typeOf(schema.items);
		return /^[^<]*\|/.test(item) ? `(${item})[]` : `${item}[]`;
	}
	if (schema.type === 'object') return `Record<string, ${typeOf(schema.additionalProperties)}>`;
	if (simple[schema.type]) return simple[schema.type];
	throw new Error(`no type for ${JSON.stringify(schema)}`);
}

/** Meaning and unit. */
function comment({ description, 'x-unit': unit }, indent) {
	const about = description ? description[0].toUpperCase() + description.slice(1) : '';
	const text = about && unit ? `${about} (${unit})` : about || unit;
	if (!text) return '';
	const sentence = `${text.replaceAll('*/', '* /')}.`;
	if (widthOf(`${indent}/** ${sentence} */`) <= WIDTH) return `${indent}/** ${sentence} */\n`;
	const lines = [`${indent} *`];
	for (const word of sentence.split(' ')) {
		if (widthOf(`${lines.at(-1)} ${word}`) > WIDTH) lines.push(`${indent} *`);
		lines[lines.length - 1] += ` ${word}`;
	}
	return `${indent}/**\n${lines.join('\n')}\n${indent} */\n`;
}

/** A member; a choice of words that is too long for a line has a line for each. */
function member(name, type) {
	const line = `\t${name}: ${type};\n`;
	if (widthOf(line.trimEnd()) <= WIDTH) return line;
	const words = type.split(' | ').map((word) => `\n\t\t| ${word}`);
	return `\t${name}:${words.join('')};\n`;
}

function interfaceOf(name, { properties, required }) {
	const must = new Set(required);
	const members = Object.entries(properties).map(([key, schema]) => {
		if (!/^\w+$/.test(key)) throw new Error(`${name}: what is ${key}?`);
		const name = `${key}${must.has(key) ? '' : '?'}`;
		return comment(schema, '\t') + member(name, typeOf(schema));
	});
	return `export interface ${nameOf(name)} {\n${members.join('')}}\n`;
}

/**
 * What the page asks for: the path behind /data/ID/, or the whole path of what is of no recording.
 */
function routes() {
	const lines = [];
	for (const [path, { get }] of Object.entries(paths)) {
		const { schema } = get?.responses['200'].content['application/json'] ?? {};
		if (schema)
			lines.push(
				`\t'${path.replace(/^\/data\/{id}\//, '').replace(/^\//, '')}': ` +
					`${typeOf(schema)};\n`,
			);
	}
	return (
		`/** What is answered where: by the path behind /data/ID/, or of no recording. */\n` +
		`export interface Answers {\n${lines.join('')}}\n`
	);
}

/** Files for other tools, of the routes that have a title for the menu. */
function files() {
	const quoted = (text) => `'${text.replaceAll("'", "\\'")}'`;
	const lines = Object.entries(paths)
		.filter(([, { get }]) => get?.['x-title'])
		.map(([path, { get }]) => {
			const row = [path.split('/').at(-1), get['x-file'], get['x-title']];
			return `\t[${row.map(quoted).join(', ')}],\n`;
		});
	return `/**
 * Files for other tools: what stands behind /data/ID/export/, what the file is called, and the
 * choice in the menu.
 */
export const FILES: readonly (readonly [string, string, string])[] = [\n${lines.join('')}];\n`;
}

const parts = Object.entries(components.schemas).map(([name, schema]) => interfaceOf(name, schema));
const head = `// Written by api/generate.mjs from what the collector says of its answers
// (/openapi.json): not to be edited.
// After a change of the collector's: collector/page/api/update BUILD\n`;
process.stdout.write([head, ...parts, routes(), files()].join('\n'));
