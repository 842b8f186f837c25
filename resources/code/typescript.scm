(class_declaration name: (type_identifier) @name) @definition
(abstract_class_declaration name: (type_identifier) @name) @definition
(interface_declaration name: (type_identifier) @name) @definition
(type_alias_declaration name: (type_identifier) @name) @definition
(enum_declaration name: (identifier) @name) @definition
(function_declaration name: (identifier) @name) @definition
(generator_function_declaration name: (identifier) @name) @definition
(method_definition name: (property_identifier) @name) @definition
(abstract_method_signature name: (property_identifier) @name) @definition
(internal_module name: (identifier) @name) @definition
(program (lexical_declaration (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (class)])) @definition)
(program (export_statement (lexical_declaration (variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression) (class)])) @definition))
