"""docs/openapi.yaml: reading it, following its references, its examples, and schemas that a JSON Schema validator takes."""
import copy
import re
import warnings
from pathlib import Path

import yaml

with warnings.catch_warnings():
    warnings.simplefilter('ignore', DeprecationWarning)
    from jsonschema import Draft202012Validator

TOP = Path(__file__).resolve().parents[2]
METHODS = ('get', 'put', 'post', 'delete', 'patch')


class StrictLoader(yaml.SafeLoader):
    """YAML takes the last of two equal keys silently."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f'the key {key.value} is there twice', key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def read_yaml(path):
    with open(path, encoding='utf-8') as file:
        return yaml.load(file, StrictLoader)


class Document:
    def __init__(self, path=TOP / 'docs/openapi.yaml'):
        self.root = read_yaml(path)
        closed = copy.deepcopy(self.root['components'])
        close_objects(closed['schemas'])
        self.closed_components = closed

    def resolve(self, node):
        """The thing itself, or what a reference beside nothing else stands for."""
        while isinstance(node, dict) and '$ref' in node:
            node = self.at(node['$ref'])
        return node

    def at(self, reference):
        node = self.root
        for part in reference.removeprefix('#/').split('/'):
            node = node[part.replace('~1', '/').replace('~0', '~')]
        return node

    def operations(self):
        for path, item in self.root['paths'].items():
            for method in METHODS:
                if method in item:
                    yield method.upper(), path, item[method]

    def operation(self, method, target):
        """The operation that serves a request, or None."""
        path = target.partition('?')[0]
        for template, item in self.root['paths'].items():
            if re.fullmatch(re.sub(r'\{\w+\}', '[^/]+', re.escape(template).replace(r'\{', '{').replace(r'\}', '}')), path):
                return item.get(method.lower())
        return None

    def response(self, operation, status):
        return self.resolve(operation['responses'].get(status)) if operation else None

    def examples(self, content):
        """(media type, name, value) of every example below `content`."""
        for media, body in content.items():
            for name, example in body.get('examples', {}).items():
                yield media, name, self.resolve(example)['value']

    def example(self, content, name):
        return next(((media, value) for media, known, value in self.examples(content) if known == name), None)

    def validator(self, schema, closed=False):
        """`closed`: members that the schema does not name are errors."""
        if closed:
            schema = copy.deepcopy(schema)
            close_objects(schema)
        components = self.closed_components if closed else self.root['components']
        return Draft202012Validator({'allOf': [schema], 'components': components})

    def errors(self, schema, value, closed=False):
        found = []
        for error in self.validator(schema, closed).iter_errors(value):
            where = '/'.join(str(part) for part in error.absolute_path)
            found.append(f'/{where}: {error.message[:300]}')
        return found


def close_objects(node):
    if isinstance(node, dict):
        if isinstance(node.get('properties'), dict) and 'type' in node:
            node.setdefault('additionalProperties', False)
        for child in node.values():
            close_objects(child)
    elif isinstance(node, list):
        for child in node:
            close_objects(child)


def read_events(text):
    """Server-sent events: a list of {'id', 'event', 'data'}."""
    events = []
    for block in text.split('\n\n'):
        event = {}
        for line in block.splitlines():
            if line and not line.startswith(':'):
                field, _, value = line.partition(':')
                value = value.removeprefix(' ')
                event[field] = event[field] + '\n' + value if field in event else value
        if event:
            events.append(event)
    return events


EVENT_SCHEMAS = {'operation': 'Operation', 'reconcile': 'ReconcileReport', 'libvirt': 'LibvirtEvent', 'log': 'LogEvent'}


class Steps:
    """tests/api/scenario.yaml, with what each step names in the document."""

    def __init__(self, document, path=Path(__file__).with_name('scenario.yaml')):
        self.document = document
        self.steps = read_yaml(path)

    def answer_of(self, step):
        """(status, response object, name of the example) of a step with a request."""
        status, _, name = step['answer'].partition(' ')
        if 'of' in step:
            return status, self.document.root['components']['responses'][step['of']], name
        method, target = step['request'].split(' ', 1)
        return status, self.document.response(self.document.operation(method, target), status), name

    def body_of(self, step):
        """(media type, value) of the request's example, or None."""
        if 'body' not in step:
            return None
        method, target = step['request'].split(' ', 1)
        content = self.document.operation(method, target)['requestBody']['content']
        return self.document.example(content, step['body'])
