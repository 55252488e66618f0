// Uses everything that a server offers besides tools, with an official TypeScript client; `script.mjs` has the usage.
//
// The server must have the fixtures of the conformance suite. Prints one line of JSON.

import { call, main, open } from './script.mjs';

const CHANGED_WITHIN_MS = 5000;
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';

await main(async options => {
    const told = { progress: [], logs: 0, asked: [] };
    let changed;
    const toolsChanged = new Promise(resolve => (changed = resolve));
    const settings = {
        capabilities: { elicitation: {}, sampling: {}, roots: {} },
        listChanged: { tools: { autoRefresh: false, debounceMs: 0, onChanged: () => changed(true) } }
    };
    const client = await open(options, settings, client => answerQuestions(client, told));
    const revision = client.getNegotiatedProtocolVersion();
    const legacy = revision < '2026-07-28';
    if (legacy) await client.setLoggingLevel('debug');

    const names = (list, key) => list.map(item => item[key]);
    const prompt = await client.getPrompt({ name: 'test_prompt_with_arguments', arguments: { arg1: 'one', arg2: 'two' } });
    const completion = await client.complete({
        ref: { type: 'ref/prompt', name: 'test_prompt_with_arguments' },
        argument: { name: 'arg1', value: 'test' }
    });
    const answer = {
        protocolVersion: revision,
        prompts: names((await client.listPrompts()).prompts, 'name'),
        resources: names((await client.listResources()).resources, 'uri'),
        templates: names((await client.listResourceTemplates()).resourceTemplates, 'uriTemplate'),
        read: (await client.readResource({ uri: 'test://static-text' })).contents[0],
        filled: (await client.readResource({ uri: 'test://template/42/data' })).contents[0],
        prompt: prompt.messages[0].content,
        completion: completion.completion.values
    };
    await call(client, 'test_tool_with_progress', {}, [{ onprogress: step => told.progress.push(step.progress) }]);
    await client.callTool({
        name: 'test_tool_with_logging',
        arguments: {},
        ...(!legacy && { _meta: { [LOG_LEVEL]: 'debug' } })
    });
    answer.elicitation = await call(client, 'test_elicitation', { message: 'Who?' });
    answer.sampling = await call(client, 'test_sampling', { prompt: 'Say it' });
    await call(client, 'test_trigger_tool_change', {});
    setTimeout(() => changed(false), CHANGED_WITHIN_MS);
    answer.toolsChanged = await toolsChanged;
    await client.close();
    return { ...answer, ...told };
});

function answerQuestions(client, told) {
    client.setRequestHandler('elicitation/create', async () => {
        told.asked.push('elicitation');
        return { action: 'accept', content: { username: 'ann', email: 'ann@example.com' } };
    });
    client.setRequestHandler('sampling/createMessage', async () => {
        told.asked.push('sampling');
        return { role: 'assistant', content: { type: 'text', text: 'so be it' }, model: 'none' };
    });
    client.setNotificationHandler('notifications/message', () => {
        told.logs += 1;
    });
}
